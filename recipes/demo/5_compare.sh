#!/usr/bin/env bash
# Forced alignment of the test set: AER of every layer, weights beside norms, both directions and symmetrized.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

reversed_gold() { # normalign's gold is source first: for en-de the German-first gold is turned around
  sed -E 's/([0-9]+)([-p])([0-9]+)/\3\2\1/g' "$RAW/test.talp" >"$RESULTS/test.en-de.talp"
}

compare() { # SOURCE TARGET GOLD EXTRA...
  local source=$1 target=$2 gold=$3 out=$RESULTS/compare.$1-$2.txt
  shift 3
  normalign compare --path "$MODELS/$source-$target/checkpoint_best.pt" --data "$BINARY" \
    --source "$RAW/test.$source" --target "$RAW/test.$target" \
    --tokenizer moses --lowercase --bpe-codes "$PIECES/codes" --gold "$gold" "$@" \
    >"$out.part" 2>"$WORK/5_compare.$source-$target.log" ||
    { cat "$WORK/5_compare.$source-$target.log" >&2; fail "normalign compare ($source-$target) failed"; }
  mv "$out.part" "$out"
}

announce "5 comparing weights and norms, every layer, both directions"
if [ -e "$RESULTS/complete" ]; then
  already_there
else
  for direction in $DIRECTIONS; do
    [ -e "$MODELS/$direction/complete" ] || fail "there is no model $direction yet; run 3_train.sh first"
  done
  mkdir -p "$RESULTS"
  reversed_gold
  compare de en "$RAW/test.talp" --reverse-path "$MODELS/en-de/checkpoint_best.pt" --reverse-data "$BINARY" --symmetrize grow-diag \
    --figure "$RESULTS/layers.de-en.png"
  compare en de "$RESULTS/test.en-de.talp"
  touch "$RESULTS/complete"
  done_after
fi
cat "$RESULTS/compare.de-en.txt" "$RESULTS/compare.en-de.txt"
