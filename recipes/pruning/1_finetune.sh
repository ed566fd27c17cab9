#!/usr/bin/env bash
# Fine-tunes the demo's de-en model with a gate on each head, once for each lambda.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

finetune() { # LAMBDA
  local out=$SWEEP/$1
  mkdir -p "$out"
  # shellcheck disable=SC2046,SC2086
  logged "$out/1_finetune.log" fairseq-train "$BINARY" --source-lang de --target-lang en $(training_arguments) \
    --task "$TASK" $architecture --dropout 0 \
    --finetune-from-model "$MODELS/de-en/checkpoint_best.pt" \
    --normalign-gates "$GATES" --normalign-gates-speed "$GATE_SPEED" \
    --criterion label_smoothed_cross_entropy_with_head_gates --normalign-gates-lambda "$1" --label-smoothing 0.1 \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr "$GATE_RATE" \
    --max-tokens "$TOKENS" --max-update "$GATE_UPDATES" --seed "$SEED" --disable-validation \
    --cpu --num-workers 0 --save-dir "$out" --no-epoch-checkpoints --log-format simple --log-interval 50
  touch "$out/finetuned"
}

architecture=$(step model-options "$MODELS/de-en/checkpoint_best.pt" --arch transformer_normalign_gated) || exit
for lambda in $LAMBDAS; do
  announce "1 fine-tuning with gates, lambda $lambda, $GATE_UPDATES updates"
  if [ -e "$SWEEP/$lambda/finetuned" ]; then already_there && continue; fi
  finetune "$lambda"
  done_after
done
