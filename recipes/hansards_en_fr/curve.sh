#!/usr/bin/env bash
# AER over updates on the 37 trial pairs, of the checkpoints that 7_train.sh kept. Readings are chosen by valid, without gold.
EVALUATED=dev
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
curve_step --choose-by "$CLEAN/valid.$SOURCE" "$CLEAN/valid.$TARGET"
