# What every step of this recipe shares; sourced, never run. Every variable can be set from outside; the README has a table.
# shellcheck shell=bash disable=SC2034
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=${WORK:-$HERE/work}

: "${SEEDS:=1 2 3 4 5}" "${LOWERCASE:=1}" "${PIECES_BY:=bpe}" "${HOLD_OUT:=1000}"
if [ "${PRESET:=paper}" = paper ]; then : "${ARCH:=transformer_normalign_iwslt_de_en}" "${JOINT:=0}" "${MERGES:=10000}"; fi
if [ "$PIECES_BY" = sentencepiece ]; then EXTRAS="plots sentencepiece"; fi

# shellcheck source=../common/presets.sh
. "$HERE/../common/presets.sh"
# shellcheck source=../common/steps.sh
. "$HERE/../common/steps.sh"
# shellcheck source=../common/prepare.sh
. "$HERE/../common/prepare.sh"
# shellcheck source=../common/model.sh
. "$HERE/../common/model.sh"

PARTS=(train=de-en.tgz:europarl-v7.de-en.de,europarl-v7.de-en.en) # SPLIT=ARCHIVE:GERMAN,ENGLISH
