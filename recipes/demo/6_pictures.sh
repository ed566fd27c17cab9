#!/usr/bin/env bash
# One alignment as a picture, a folder to look through, and what was seen.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

the_test_set() { # the arguments that view and report share: both models, read with two looks
  printf '%s\n' --path "$MODELS/de-en/checkpoint_best.pt" --data "$BINARY" --source-lang de --target-lang en \
    --reverse-path "$MODELS/en-de/checkpoint_best.pt" --reverse-data "$BINARY" \
    --source "$RAW/test.de" --target "$RAW/test.en" --tokenizer moses --lowercase --bpe-codes "$PIECES/codes" \
    --gold "$RAW/test.talp" --gold-format talp --gold-base 1 --no-reverse-gold
}

best_cell() { # METHOD SETTINGS: its lowest AER in the table of de-en, with setting and layer
  sed -n '/^AER of every layer/,/^Systems/p' "$RESULTS/compare.de-en.txt" |
    awk -v method="$1" -v settings="$2" -v layers="$LAYERS" '$1 == method && index(settings, $2) {
        for (layer = 1; layer <= layers; layer++)
          if (best == "" || $(layer + 2) < best) { best = $(layer + 2); where = $2 " " layer }
      }
      END { print best, where }'
}

seen() { # METHOD SETTING: as words
  local aer layer
  read -r aer _ layer < <(best_cell "$1" "$2")
  printf '%s by %s at %s (layer %s)' "$aer" "$1" "${2^^}" "$layer"
}

two_looks() { # WAY: the AER of two looks, of one direction or agreed
  sed -n '/^Systems/,$p' "$RESULTS/compare.de-en.txt" | awk -v way="$1" '$1 " " $2 == "two looks" && index($3, way) == 1 { print $4 }'
}

[ -e "$RESULTS/compare.de-en.txt" ] || fail "there is no table yet; run 5_compare.sh first"
read -r _ setting _ < <(best_cell norms 'awo awi')

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
shown=${RESULTS#"$PWD"/}
cat <<END

Seen: lowest AER of de-en $(seen weights awo), $(seen norms "$setting"), $(two_looks norms) by two looks; both directions $(two_looks agreed).
Look: $shown/report/index.html, $shown/layers.de-en.png, $shown/sentence-$SENTENCE.png
Your own data: normalign align --path CHECKPOINT --reverse-path CHECKPOINT --source S --target T --bpe-codes CODES -o links.txt
END
