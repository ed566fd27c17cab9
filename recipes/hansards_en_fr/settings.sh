# What every step of this recipe shares; sourced, never run. Every variable can be set from outside; the README has a table.
# shellcheck shell=bash disable=SC2034
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=${WORK:-$HERE/work}

: "${LANGUAGES:=en fr}" "${TOKENIZE:=0}" "${PRESET:=cpu}" "${MAX_UPDATE:=20000}" "${EXTRA_TRAIN_OPTIONS:=--keep-interval-updates -1}"

# shellcheck source=../common/presets.sh
. "$HERE/../common/presets.sh"
# shellcheck source=../common/steps.sh
. "$HERE/../common/steps.sh"
# shellcheck source=../common/prepare.sh
. "$HERE/../common/prepare.sh"
# shellcheck source=../common/model.sh
. "$HERE/../common/model.sh"
