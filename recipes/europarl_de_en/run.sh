#!/usr/bin/env bash
# All steps in order. Each can be run by itself, and is skipped when its result is there; to start afresh, remove work/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for step in [1-9]_*.sh; do
  bash "$step"
done
