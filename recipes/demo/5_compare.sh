#!/usr/bin/env bash
# Forced alignment of the test set: AER of every layer, weights beside norms, two looks, both directions.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

compare() { # DIRECTION: the gold is German first, and each direction is symmetrized with the other
  local source=${1%-*} target=${1#*-} table=$RESULTS/compare.$1.txt turned=--no-reverse-gold
  [ "$source" = de ] || turned=--reverse-gold
  [ -e "$table" ] && return
  logged "$WORK/5_compare.$1.log" normalign compare --data "$BINARY" --reverse-data "$BINARY" \
    --path "$MODELS/$1/checkpoint_best.pt" --source-lang "$source" --target-lang "$target" \
    --reverse-path "$MODELS/$target-$source/checkpoint_best.pt" --symmetrize grow-diag,agreed-grow-diag --all-rows \
    --source "$RAW/test.$source" --target "$RAW/test.$target" --tokenizer moses --lowercase --bpe-codes "$PIECES/codes" \
    --gold "$RAW/test.talp" --gold-format talp --gold-base 1 $turned \
    --figure "$RESULTS/layers.$1.png" -o "$table"
}

announce "5 comparing weights, norms and two looks: every layer, both directions"
if [ -e "$RESULTS/compare.de-en.txt" ] && [ -e "$RESULTS/compare.en-de.txt" ]; then already_there && exit; fi
needs_models
mkdir -p "$RESULTS"
both_directions compare
done_after
