#!/usr/bin/env bash
# Takes the closed heads out, translates the test set with the gated and with the pruned model, and scores alignments.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

translate() { # CHECKPOINT LOG
  # shellcheck disable=SC2046
  logged "$2" fairseq-generate "$BINARY" --source-lang de --target-lang en $(training_arguments) --task "$TASK" \
    --path "$1" --gen-subset test --beam "$BEAM" --max-tokens 6000 --cpu --num-workers 0 --post-process subword_nmt
}

hypotheses() { grep '^H-' "$1" | cut -f1,3; }

align() { # CHECKPOINT OUTPUT
  logged "$2.log" normalign compare --path "$1" --data "$BINARY" --source "$RAW/test.de" --target "$RAW/test.en" --cpu \
    --tokenizer moses --lowercase --bpe-codes "$PIECES/codes" --gold "$RAW/test.talp" --bootstrap 100 --style tsv -o "$2"
}

prune() { # FOLDER
  step prune "$1/checkpoint_last.pt" -o "$1/small.pt" >"$1/2_prune.txt"
  translate "$1/checkpoint_last.pt" "$1/2_gated.log"
  translate "$1/small.pt" "$1/2_pruned.log"
  cmp -s <(hypotheses "$1/2_gated.log") <(hypotheses "$1/2_pruned.log") ||
    fail "$1: the pruned model translates other than the gated one"
  python "$PRUNING/speed.py" "$1/checkpoint_last.pt" "$1/small.pt" --data "$BINARY" --beam "$BEAM" \
    >"$1/faster.txt" 2>"$1/2_speed.log" || fail "the two could not be timed; see $1/2_speed.log"
  align "$1/small.pt" "$1/compare.tsv"
}

announce "2 the model to start from"
if [ -e "$SWEEP/before/done" ]; then
  already_there
else
  mkdir -p "$SWEEP/before"
  translate "$MODELS/de-en/checkpoint_best.pt" "$SWEEP/before/2_pruned.log"
  align "$MODELS/de-en/checkpoint_best.pt" "$SWEEP/before/compare.tsv"
  touch "$SWEEP/before/done"
  done_after
fi
for lambda in $LAMBDAS; do
  announce "2 pruning, translating, aligning, lambda $lambda"
  if [ -e "$SWEEP/$lambda/done" ]; then already_there && continue; fi
  [ -e "$SWEEP/$lambda/finetuned" ] || fail "not fine-tuned with lambda $lambda yet; run 1_finetune.sh first"
  prune "$SWEEP/$lambda"
  touch "$SWEEP/$lambda/done"
  done_after
done
