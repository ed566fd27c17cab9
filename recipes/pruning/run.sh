#!/usr/bin/env bash
# The whole sweep. Each step can be run by itself, and is skipped when its result is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for step in [1-9]_*.sh; do
  bash "$step"
done
