#!/usr/bin/env bash
# The demo from start to end: makes a corpus, trains both directions, translates, aligns, and compares.
# Each step can be run by itself, and is skipped when its result is there; to start afresh, remove recipes/demo/work.
set -euo pipefail
for step in "$(dirname "${BASH_SOURCE[0]}")"/[1-9]_*.sh; do # paths stay those of where the command was typed
  bash "$step"
done
