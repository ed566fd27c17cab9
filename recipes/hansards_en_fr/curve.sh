#!/usr/bin/env bash
# AER over updates, of the checkpoints that 7_train.sh kept: give it EXTRA_TRAIN_OPTIONS="--keep-interval-updates -1".
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
curve_step
