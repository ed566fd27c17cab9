#!/usr/bin/env bash
# Trains both directions at the same time, one core each. An interrupted training goes on from its last epoch.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

train() { # DIRECTION
  local source=${1%-*} target=${1#*-} model=$MODELS/$1
  [ -e "$model/complete" ] && return
  mkdir -p "$model"
  # shellcheck disable=SC2046
  logged "$WORK/3_train.$1.log" fairseq-train "$BINARY" --source-lang "$source" --target-lang "$target" $(training_arguments) \
    --task "$TASK" --arch "$ARCH" --share-all-embeddings \
    --encoder-layers "$ENCODER_LAYERS" --encoder-embed-dim "$WIDTH" --encoder-ffn-embed-dim "$FEED_FORWARD" \
    --encoder-attention-heads "$HEADS" \
    --decoder-layers "$LAYERS" --decoder-embed-dim "$WIDTH" --decoder-ffn-embed-dim "$FEED_FORWARD" \
    --decoder-attention-heads "$HEADS" --decoder-learned-pos --dropout 0 \
    --criterion "$(criterion)" --label-smoothing 0.1 \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
    --lr "$LEARNING_RATE" --lr-scheduler inverse_sqrt --warmup-updates "$WARMUP" \
    --max-tokens "$TOKENS" --max-update "$UPDATES" --seed "$SEED" \
    --cpu --num-workers 0 --save-dir "$model" --no-epoch-checkpoints --log-format simple --log-interval 50
  touch "$model/complete"
}

announce "3 training $ENCODER_LAYERS+$LAYERS layers for $UPDATES updates, de-en and en-de at once"
if [ -e "$MODELS/de-en/complete" ] && [ -e "$MODELS/en-de/complete" ]; then already_there && exit; fi
[ -e "$BINARY/complete" ] || fail "there is no binary data yet; run 2_prepare.sh first"
printf '\n    3 to 6 minutes on two free cores; logs: %s\n' "$WORK/3_train.*.log"
with_progress "$UPDATES" "$WORK/3_train.de-en.log $WORK/3_train.en-de.log" both_directions train
printf '%-76s ' "" && done_after
