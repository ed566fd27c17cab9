#!/usr/bin/env bash
# Sets everything up, then: ruff, mypy, pytest.   bash tests/run.sh [--slow] [arguments for pytest]
set -euo pipefail
cd "$(dirname "$0")/.."
. recipes/setup.sh dev

chosen=()
if [ "${1:-}" = --slow ]; then
  shift
  chosen=(-m "slow or not slow")
fi
echo "== ruff"
ruff check .
ruff format --check .
echo "== mypy"
mypy
echo "== pytest"
exec python -m pytest ${chosen[@]+"${chosen[@]}"} "$@"
