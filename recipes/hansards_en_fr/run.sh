#!/usr/bin/env bash
# All steps in order. Each can be run by itself, and is skipped when its result is there; to start afresh, remove work/.
set -euo pipefail
for step in "$(dirname "${BASH_SOURCE[0]}")"/[1-9]_*.sh; do # paths stay those of where the command was typed
  bash "$step"
done
