#!/usr/bin/env bash
# One alignment as a picture, a folder to look through, and what was seen.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

the_test_set() { # the arguments that view and report share: both models, read with two looks
  printf '%s\n' --path "$MODELS/de-en/checkpoint_best.pt" --data "$BINARY" --source-lang de --target-lang en \
    --reverse-path "$MODELS/en-de/checkpoint_best.pt" --reverse-data "$BINARY" \
    --source "$RAW/test.de" --target "$RAW/test.en" --tokenizer moses --lowercase --bpe-codes "$PIECES/codes" \
    --gold "$RAW/test.talp" --gold-format talp --gold-base 1 --no-reverse-gold
}

aer() { # DIRECTION ROW: the AER of a system in the first part of the table that has it
  awk -v row="$2" '/^Systems/ { found = 1 }
    found && index($0, row) == 1 { for (n = 1; n <= NF; n++) if ($n ~ /^[0-9]+[.][0-9]$/) { print $n; exit } }' "$RESULTS/compare.$1.txt"
}

row() { # TITLE ROW
  printf '  %-58s %5s  %5s\n' "$1" "$(aer de-en "$2")" "$(aer en-de "$2")"
}

[ -e "$RESULTS/compare.de-en.txt" ] || fail "there is no table yet; run 5_compare.sh first"

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
  logged "$WORK/6_report.log" normalign view "${test_set[@]}" --all-sentences --title 'The demo: de-en' \
    --report "$RESULTS/report"
  done_after
fi
shown=${RESULTS#"$PWD"/}
printf '\n  %-58s %5s  %5s\n' "alignment error rate in percent, best layer; 0 is perfect" de-en en-de
row "attention weights, at the step that outputs the word" "weights awo best layer"
row "norms, one step later, when the word is read" "norms awi best layer"
row "two looks: both steps multiplied" "two looks norms:"
row "two looks of both directions" "two looks agreed-grow-diag"
printf 'Look: %s\n' "$shown/sentence-$SENTENCE.png, $shown/report/index.html; all systems: $shown/compare.de-en.txt"
printf 'Next: %s\n' "normalign align --path CHECKPOINT --reverse-path CHECKPOINT --source S --target T --bpe-codes CODES -o links.txt"
