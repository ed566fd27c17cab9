#!/usr/bin/env bash
# One table and one figure: BLEU and AER against heads kept, and which heads those are.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
# shellcheck disable=SC2086
python "$PRUNING/show.py" "$SWEEP" --heads "$HEADS" --layers "$ENCODER_LAYERS" "$LAYERS" --figure "$SWEEP/pruning.png" $LAMBDAS
printf 'figure: %s\n' "$SWEEP/pruning.png"
