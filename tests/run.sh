#!/usr/bin/env bash
# Sets everything up, then: pytest, ruff, mypy. All of them run, whatever fails.
#   bash tests/run.sh [--slow] [arguments for pytest]
set -euo pipefail
cd "$(dirname "$0")/.."
. recipes/setup.sh dev

cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
chosen=(-n "$((cores < 4 ? cores : 4))") # so many tests at the same time
if [ "${1:-}" = --slow ]; then
  shift
  chosen=(-m "slow or not slow")
fi

results=() failed=0
trap 'exit 130' INT
check() { # a name and a command: run it, remember how it ended
  echo "== $1"
  if "${@:2}"; then results+=("$1 passed"); else results+=("$1 FAILED") && failed=1; fi
}
check pytest python -m pytest ${chosen[@]+"${chosen[@]}"} "$@"
check "ruff check" ruff check .
check "ruff format" ruff format --check .
case $(python -V || true) in
  "Python 3.10."*) results+=("mypy not run on Python 3.10") ;; # its numpy has no default types for arrays
  *) check mypy mypy ;;
esac
echo "== $(IFS=';'; echo "${results[*]}" | sed 's/;/; /g')"
exit "$failed"
