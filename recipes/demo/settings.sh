# What every step of the demo shares; sourced, never run. Each variable can be set from outside, for example
#   UPDATES=2000 WORK=/some/where bash recipes/demo/run.sh
# shellcheck shell=bash disable=SC2034
DEMO=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=${WORK:-$DEMO/work}

SEED=${SEED:-1}
TRAIN=${TRAIN:-30000} VALID=${VALID:-500} TEST=${TEST:-500} # sentence pairs
MERGES=${MERGES:-4000}                                      # of subword-nmt, joint
UPDATES=${UPDATES:-900}
TOKENS=${TOKENS:-1500} # a batch
LEARNING_RATE=${LEARNING_RATE:-5e-3} WARMUP=${WARMUP:-200}
LAYERS=${LAYERS:-2} WIDTH=${WIDTH:-96} FEED_FORWARD=${FEED_FORWARD:-192} HEADS=${HEADS:-4}
BEAM=${BEAM:-4}

ARCH=${ARCH:-transformer_normalign}
TASK=${TASK:-translation_normalign}
DIRECTIONS="de-en en-de"

RAW=$WORK/raw           # text as people write it, and the gold alignment
TOKENIZED=$WORK/tokenized
PIECES=$WORK/pieces     # after BPE
BINARY=$WORK/binary     # what fairseq reads; it serves both directions
MODELS=$WORK/models     # one folder a direction
TRANSLATIONS=$WORK/translations
RESULTS=$WORK/results

# shellcheck source=../setup.sh
. "$DEMO/../setup.sh" plots
set -euo pipefail
mkdir -p "$WORK"
unset LANGUAGE
export LC_ALL=C.UTF-8 PYTHONIOENCODING=utf-8 PYTHONUTF8=1

user_dir() { # the arguments that make fairseq load this package, unless a stock task is tried out
  case $TASK in *normalign*) printf -- '--user-dir %s' "$(normalign user-dir)" ;; esac
}

fail() {
  printf '%s: error: %s\n' "${0##*/}" "$*" >&2
  exit 2
}

logged() { # logged LOG COMMAND...: its output goes to the log; a failure shows where and why
  local log=$1 code=0
  shift
  "$@" >"$log" 2>&1 || code=$?
  [ "$code" -eq 0 ] && return
  tail -n 5 "$log" >&2
  fail "'$1' ended with code $code; the whole log is $log"
}

announce() { # announce WHAT: the line a person reads; done_after or already_there ends it
  printf '%-72s ' "$1"
  started=$SECONDS
}

done_after() { printf '%4d s\n' "$((SECONDS - started))"; }

already_there() { printf '%s\n' 'there already'; }

needs_models() {
  local direction
  for direction in $DIRECTIONS; do
    [ -e "$MODELS/$direction/complete" ] || fail "there is no model $direction yet; run 3_train.sh first"
  done
}

both_directions() { # both_directions FUNCTION: once for each direction, at the same time
  local direction failed=0 jobs=()
  for direction in $DIRECTIONS; do
    "$1" "${direction%-*}" "${direction#*-}" &
    jobs+=($!)
  done
  trap 'kill "${jobs[@]}" 2>/dev/null; exit 130' INT TERM
  for direction in "${jobs[@]}"; do wait "$direction" || failed=1; done
  trap - INT TERM
  [ "$failed" -eq 0 ] || exit 2
}
