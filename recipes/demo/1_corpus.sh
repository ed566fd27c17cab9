#!/usr/bin/env bash
# Writes the German-English corpus: train, valid and test text, and the gold alignment of the test set.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

announce "1 writing $TRAIN sentence pairs with known alignments"
if [ -e "$RAW/complete" ]; then already_there && exit; fi
mkdir -p "$RAW"
logged "$WORK/1_corpus.log" python "$DEMO/corpus.py" --out "$RAW" --seed "$SEED" --train "$TRAIN" --valid "$VALID" \
  --test "$TEST" --describe
touch "$RAW/complete"
done_after
