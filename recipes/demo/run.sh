#!/usr/bin/env bash
# The demo from start to end: makes a corpus, trains both directions, translates, aligns, and compares.
# Each step can be run by itself, and is skipped when its result is there; to start afresh, remove recipes/demo/work.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for step in [1-9]_*.sh; do
  bash "$step"
done
