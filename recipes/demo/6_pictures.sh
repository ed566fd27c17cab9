#!/usr/bin/env bash
# One alignment as a picture, a folder to look through, and what was seen.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

SENTENCE=${SENTENCE:-3} # of the test set, from 1

the_test_set() { # the arguments that view and report share
  printf '%s\n' --path "$MODELS/de-en/checkpoint_best.pt" --data "$BINARY" --source-lang de --target-lang en \
    --source "$RAW/test.de" --target "$RAW/test.en" --tokenizer moses --lowercase --bpe-codes "$PIECES/codes" \
    --gold "$RAW/test.talp" --gold-format talp --gold-base 1 --no-reverse-gold
}

best_cell() { # METHOD: its lowest AER in the table of de-en, with setting and layer
  awk -v method="$1" '$1 == method && ($2 == "awo" || $2 == "awi") && $3 ~ /^[0-9.]+$/ {
      for (layer = 1; layer <= '"$LAYERS"'; layer++)
        if (best == "" || $(layer + 2) + 0 < best) { best = $(layer + 2) + 0; where = toupper($2) " at layer " layer }
    }
    END { printf "%.1f (%s)", best, where }' "$RESULTS/compare.de-en.txt"
}

announce "6 drawing sentence $SENTENCE, writing the report"
if [ -e "$RESULTS/report/index.html" ] && [ -e "$RESULTS/sentence-$SENTENCE.png" ]; then
  already_there
else
  needs_models
  mkdir -p "$RESULTS"
  mapfile -t test_set < <(the_test_set)
  logged "$WORK/6_view.log" normalign view "${test_set[@]}" --sentences "$SENTENCE" \
    -o "$RESULTS/sentence-$SENTENCE.png"
  rm -rf "$RESULTS/report"
  logged "$WORK/6_report.log" normalign report "${test_set[@]}" --all-sentences --title 'The demo: de-en' \
    -o "$RESULTS/report"
  done_after
fi
cat <<END

Seen: lowest AER of de-en by weights $(best_cell weights), by norms $(best_cell norms).
Look: $RESULTS/report/index.html, $RESULTS/layers.de-en.png, $RESULTS/sentence-$SENTENCE.png
Your own data: normalign align --path CHECKPOINT --data DIR --source S --target T --bpe-codes CODES -o links.txt
END
