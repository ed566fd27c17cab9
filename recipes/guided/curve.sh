#!/usr/bin/env bash
# AER over the updates of the guided models; run it after 3_train.sh.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
codes="$BASE/pieces/codes"
[ -e "$codes" ] || codes="$BASE/pieces/codes.$SOURCE $BASE/pieces/codes.$TARGET"
option=--bpe-codes
if grep -q '^▁' "$BASE/binary/dict.$SOURCE.txt"; then option=--sentencepiece-model; fi
curve_of_models "AER over the updates of the guided models" "$MODELS/$SOURCE-$TARGET" "$MODELS/$TARGET-$SOURCE" "$BASE" "$option $codes" \
  --readings "$(guided_layer):awi" --floor "$FLOOR"
