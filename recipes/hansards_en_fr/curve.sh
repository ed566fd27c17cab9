#!/usr/bin/env bash
# AER over updates on the 37 trial pairs, of the checkpoints that 7_train.sh kept.
EVALUATED=dev
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
curve_step
