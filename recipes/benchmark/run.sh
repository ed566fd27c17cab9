#!/usr/bin/env bash
# Measures what alignments cost, as ratios within this run.   bash recipes/benchmark/run.sh [--quick] [--output DIR]
#
# --quick takes a few minutes, the whole run about half an hour on two cores. Nothing else should be running.
set -euo pipefail
cd "$(dirname "$0")/../.."
. recipes/setup.sh plots
exec python recipes/benchmark/benchmark.py "$@"
