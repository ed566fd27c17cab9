#!/usr/bin/env bash
# Trains both directions on the links, from the teachers' parameters. An interrupted training goes on from its last checkpoint.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

aligner() { if [ "$FULL_CONTEXT" = 1 ]; then printf -- '--aligner %s' "$(guided_layer)"; fi; }

train_guided() { # DIRECTION
  local model=$MODELS/$1 options
  [ "$(cat "$model/complete" 2>/dev/null)" = "$MAX_UPDATE" ] && [ -e "$model/$MEAN" ] && return
  options=$(step model-options "$(teacher "$1")" $(aligner)) || exit
  mkdir -p "$model"
  # shellcheck disable=SC2086
  run_training "$(gpus)" "$WORK/3_train.$1.log" "$BINARY/$1" --source-lang "${1%-*}" --target-lang "${1#*-}" --load-alignments \
    --user-dir "$TRAINING" --task translation_normalign $options --finetune-from-model "$(teacher "$1")" \
    --criterion guided_alignment --guided-layer "$(guided_layer)" --guided-null "$GUIDED_NULL" \
    --translation-weight "$TRANSLATION_WEIGHT" --label-smoothing 0.1 --dropout "$DROPOUT" \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
    --lr "$LEARNING_RATE" --lr-scheduler inverse_sqrt --warmup-updates "$WARMUP" \
    --max-tokens "$MAX_TOKENS" --max-update "$MAX_UPDATE" --seed "$SEED" --save-dir "$model" --no-epoch-checkpoints \
    --save-interval-updates "$SAVE_UPDATES" --keep-interval-updates -1 --num-workers 0 --log-format simple --log-interval 50
  take_mean "$model"
  printf '%s\n' "$MAX_UPDATE" >"$model/complete"
}

take_mean() { # MODEL_DIR: the mean of the last checkpoints is steadier than any one of them
  local kept=()
  while IFS= read -r name; do kept+=("$1/$name"); done < <(by_updates "$1" | tail -n "$AVERAGE")
  if [ "${#kept[@]}" -gt 1 ]; then
    logged "$WORK/3_mean.log" python -m recipe_steps average "${kept[@]}" -o "$1/$MEAN"
  else
    cp "${kept[0]:-$1/checkpoint_last.pt}" "$1/$MEAN"
  fi
}

by_updates() { # MODEL_DIR: its checkpoint_EPOCH_UPDATES.pt, the first one first
  (cd "$1" && printf '%s\n' checkpoint_*_*.pt) | grep -E '^checkpoint_[0-9]+_[0-9]+[.]pt$' | sort -t _ -k 3 -n
}

announce "3 training $MAX_UPDATE updates on the links"
complete "$BINARY/$SOURCE-$TARGET" && complete "$BINARY/$TARGET-$SOURCE" || fail "there is no binary data yet; run 2_binarize.sh first"
needs fairseq-train normalign
for_each "$(at_once "$(gpus)")" train_guided $DIRECTIONS
done_after
