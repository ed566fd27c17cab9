# Functions that the steps of every recipe share; sourced after the recipe's settings, never run.
# shellcheck shell=bash
COMMON=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [ "${SETUP:-}" != none ]; then # SETUP=none: the programs on PATH are used as they are
  # shellcheck source=../setup.sh disable=SC2086
  . "$COMMON/../setup.sh" ${EXTRAS:-plots}
fi
set -euo pipefail
unset LANGUAGE
export LC_ALL=C.UTF-8 PYTHONIOENCODING=utf-8 PYTHONUTF8=1
# glibc hands large blocks back at once and pays for them again at every batch, dearly where training runs on a CPU
export MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_MMAP_THRESHOLD_=4000000000
export PYTHONPATH=$COMMON${PYTHONPATH:+:$PYTHONPATH}

fail() {
  printf '%s: error: %s\n' "${0##*/}" "$*" >&2
  exit 2
}

mkdir -p "$WORK" || fail "WORK=$WORK cannot be made"

of_start() { # NAME: the path of a file of START=, the folder of the models that training goes on from
  [ -e "$START/$1" ] || fail "START=$START: there is no $1; it needs the codes, the dictionaries and DIRECTION.pt of each model"
  printf '%s' "$START/$1"
}

needs() { # needs PROGRAM...
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || fail "the program '$program' is missing; '. recipes/setup.sh' installs what is needed"
  done
}

logged() { # logged LOG COMMAND...: its output goes to the log; a failure shows the last line of it, and where it is
  local log=$1 code=0
  shift
  "$@" >"$log" 2>&1 || code=$?
  [ "$code" -eq 0 ] && return
  [ "$code" -lt 128 ] || fail "'$1' was interrupted; run the step again to go on"
  grep -q 'No space left on device' "$log" && fail "the disk of $WORK is full; free some space and run the step again"
  fail "'$1' ended with code $code: $(grep -v '^[[:space:]]*$' "$log" | tail -n 1) (all of it: $log)"
}

step() { python -m recipe_steps "$@" || exit; } # a step of our own says itself what is wrong

show_training() { # GOAL LOG...: how far trainings are (updates, loss, time left), again and again until this is killed
  local goal=$1 pause=30 form='%s\n' line
  shift
  if [ -t 2 ]; then pause=2 form='\r\033[K%s'; fi
  while sleep "$pause" </dev/null >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do # $$: the step itself
    line=$(awk -v goal="$goal" -v logs="$*" '
      function value(name) { return match($0, name "=[0-9.e+-]+") ? substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1) : "" }
      BEGIN { count = split(logs, names, " ")
        for (n = 1; n <= count; n++) {
          updates = loss = speed = ""
          while ((getline < names[n]) > 0) if (/train_inner/) { updates = value("num_updates"); loss = value(" loss"); speed = value("ups") }
          sub(/.*train[.]/, "", names[n]); sub(/[.]log$/, "", names[n])
          if (updates == "") { text = text sep names[n] " starting"; sep = ", "; continue }
          text = text sep names[n] " " updates (goal > 0 ? "/" goal : "") " updates, loss " loss; sep = "; "
          if (goal > 0 && speed > 0 && (goal - updates) / speed > left) left = (goal - updates) / speed
        }
        print "    " text (left > 0 ? sprintf("; about %d min left", left / 60 + 1) : "")
      }')
    # shellcheck disable=SC2059
    printf "$form" "$line" >&2
  done
}

with_progress() { # GOAL "LOG LOG" COMMAND...: runs a training and shows how far it is
  local goal=$1 logs=$2 watcher code=0
  shift 2
  # shellcheck disable=SC2086
  show_training "$goal" $logs &
  watcher=$!
  "$@" || code=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  return "$code"
}

announce() { # announce WHAT: the line a person reads; done_after or already_there ends it
  printf '%-76s ' "$1"
  started=$SECONDS
}

done_after() { printf '%5d s\n' "$((SECONDS - started))"; }

already_there() { printf '%s\n' 'there already'; }

complete() { [ -e "$1/complete" ]; } # complete DIR

user_dir() { normalign user-dir; }

# shellcheck disable=SC2034
TRAINING=$COMMON/normalign_training # the user-dir of trainings: this package, with criteria and gates that only recipes use

stop_jobs() { # PID...: subshells, each with the program that it waits for and that would outlive it
  local job
  for job in "$@"; do
    pkill -TERM -P "$job" 2>/dev/null || true # it may have ended by itself
    kill "$job" 2>/dev/null || true
  done
  printf '\n%s: interrupted; run the step again to go on\n' "${0##*/}" >&2
  exit 130
}

for_each() { # for_each AT_ONCE FUNCTION WORD...: FUNCTION WORD for every word, so many at a time; all must succeed
  local at_once=$1 function=$2 word failed=0 jobs=()
  shift 2
  trap 'stop_jobs "${jobs[@]}"' INT TERM
  for word in "$@"; do
    "$function" "$word" &
    jobs+=($!)
    if [ "${#jobs[@]}" -ge "$at_once" ]; then
      wait "${jobs[0]}" || failed=1
      jobs=("${jobs[@]:1}")
    fi
  done
  for word in ${jobs[@]+"${jobs[@]}"}; do wait "$word" || failed=1; done
  trap - INT TERM
  [ "$failed" -eq 0 ] || exit 2
}
