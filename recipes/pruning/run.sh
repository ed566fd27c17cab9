#!/usr/bin/env bash
# The whole sweep. Each step can be run by itself, and is skipped when its result is there.
set -euo pipefail
for step in "$(dirname "${BASH_SOURCE[0]}")"/[1-9]_*.sh; do # paths stay those of where the command was typed
  bash "$step"
done
