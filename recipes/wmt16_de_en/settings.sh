# What every step of this recipe shares; sourced, never run. Every variable can be set from outside; the README has a table.
# shellcheck shell=bash disable=SC2034
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=${WORK:-$HERE/work}

# shellcheck source=../common/presets.sh
. "$HERE/../common/presets.sh"
# shellcheck source=../common/steps.sh
. "$HERE/../common/steps.sh"
# shellcheck source=../common/prepare.sh
. "$HERE/../common/prepare.sh"
# shellcheck source=../common/model.sh
. "$HERE/../common/model.sh"

PARTS=( # SPLIT=ARCHIVE:GERMAN,ENGLISH
  train=training-parallel-europarl-v7.tgz:europarl-v7.de-en.de,europarl-v7.de-en.en
  train=training-parallel-nc-v11.tgz:news-commentary-v11.de-en.de,news-commentary-v11.de-en.en
  train=training-parallel-commoncrawl.tgz:commoncrawl.de-en.de,commoncrawl.de-en.en
  valid=dev.tgz:newstest2015-deen-src.de.sgm,newstest2015-deen-ref.en.sgm
  test=test.tgz:newstest2016-deen-src.de.sgm,newstest2016-deen-ref.en.sgm
)
