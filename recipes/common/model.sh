# Training, translation and comparison: the steps 7 to 9 of the recipes. Sourced.
# shellcheck shell=bash

gpus() { # how many are used
  printf '%s' "${GPUS:-$(python -c 'import torch; print(torch.cuda.device_count())')}"
}

at_once() { # how many trainings run beside each other: one on GPUs, which it fills
  if [ "$1" -gt 0 ] || [ "$JOBS" -lt 2 ]; then echo 1; else echo 2; fi
}

run_training() { # GPUS LOG ARGUMENTS...: fairseq-train on CPU, on one GPU, or on several by torchrun
  local gpus=$1 log=$2
  shift 2
  case $gpus in
    0) logged "$log" fairseq-train "$@" --cpu ;;
    1) logged "$log" fairseq-train "$@" --fp16 --distributed-world-size 1 ;;
    *) logged "$log" torchrun --nproc-per-node "$gpus" "$(command -v fairseq-train)" "$@" --fp16 \
      --distributed-world-size "$gpus" ;;
  esac
}

update_freq() { # GPUS: so many batches make one of BATCH_TOKENS
  local each=$((MAX_TOKENS * ($1 > 0 ? $1 : 1)))
  printf '%s' "$(((BATCH_TOKENS + each - 1) / each))"
}

training_goal() { printf '%s epochs, %s updates' "$MAX_EPOCH" "$MAX_UPDATE"; }

is_trained() { # MODEL_DIR
  [ "$(cat "$1/complete" 2>/dev/null)" = "$(training_goal)" ]
}

train_model() { # DIRECTION/seedN
  local model=$MODELS/$1 direction=${1%/*} seed=${1##*/seed} embeddings=--share-decoder-input-output-embed start=() gpus there
  is_trained "$model" && return
  gpus=$(gpus)
  if [ "$JOINT" = 1 ]; then embeddings=--share-all-embeddings; fi
  if [ -n "$START" ]; then
    there=$(of_start "$direction.pt") || exit
    start=(--finetune-from-model "$there")
  fi
  mkdir -p "$model"
  # shellcheck disable=SC2086
  run_training "$gpus" "$WORK/7_train.${1//\//.}.log" "$BINARY" --source-lang "${direction%-*}" --target-lang "${direction#*-}" \
    --user-dir "$TRAINING" --task translation_normalign --arch "$ARCH" $MODEL_OPTIONS $embeddings --dropout "$DROPOUT" \
    --criterion "$CRITERION" --label-smoothing 0.1 \
    --optimizer adam --adam-betas '(0.9, 0.98)' --weight-decay "$WEIGHT_DECAY" --clip-norm "$CLIP" \
    --lr "$LEARNING_RATE" --lr-scheduler inverse_sqrt --warmup-updates "$WARMUP" --warmup-init-lr "$WARMUP_INIT" \
    --max-tokens "$MAX_TOKENS" --update-freq "$(update_freq "$gpus")" --max-epoch "$MAX_EPOCH" --max-update "$MAX_UPDATE" \
    --seed "$seed" --save-dir "$model" --no-epoch-checkpoints --save-interval-updates "$SAVE_UPDATES" \
    --keep-interval-updates 1 --num-workers 0 --log-format simple --log-interval 100 \
    ${start[@]+"${start[@]}"} $EXTRA_TRAIN_OPTIONS
  training_goal >"$model/complete"
}

runs() { # DIRECTION/seedN of every model
  local direction seed
  for direction in $DIRECTIONS; do
    for seed in $SEEDS; do printf '%s\n' "$direction/seed$seed"; done
  done
}

all_trained() {
  local run
  for run in $(runs); do is_trained "$MODELS/$run" || return; done
}

train_step() {
  announce "7 training $(runs | tr '\n' ' ')"
  if all_trained; then already_there && return; fi
  complete "$BINARY" || fail "there is no binary data yet; run 6_binarize.sh first"
  needs fairseq-train
  local logs="" run
  for run in $(runs); do logs+=" $WORK/7_train.${run//\//.}.log"; done
  printf '\n    logs: %s\n' "$WORK/7_train.*.log"
  # shellcheck disable=SC2046
  with_progress "$MAX_UPDATE" "$logs" for_each "$(at_once "$(gpus)")" train_model $(runs)
  printf '%-76s ' "" && done_after
}

must_be_trained() {
  local run
  for run in $(runs); do [ -e "$MODELS/$run/complete" ] || fail "there is no model $run yet; run 7_train.sh first"; done
}

post_process() { case $PIECES_BY in sentencepiece) echo sentencepiece ;; *) echo subword_nmt ;; esac; }

cpu_option() { if [ "$(gpus)" = 0 ]; then echo --cpu; fi; }

generate() { # DIRECTION/seedN SUBSET LOG
  local direction=${1%/*}
  [ -e "$3" ] && return
  # shellcheck disable=SC2046
  logged "$3.part" fairseq-generate "$BINARY" --source-lang "${direction%-*}" --target-lang "${direction#*-}" \
    --user-dir "$(user_dir)" --task translation_normalign --path "$MODELS/$1/checkpoint_best.pt" --gen-subset "$2" \
    --beam "$BEAM" --max-tokens 6000 --num-workers 0 --print-alignment hard --post-process "$(post_process)" $(cpu_option)
  mv "$3.part" "$3"
}

translate_run() { # DIRECTION/seedN: translations with alignments, and their BLEU
  local target=${1%/*} out=$TRANSLATIONS/${1//\//.} lower=()
  target=${target#*-}
  [ -e "$out.bleu" ] && return
  if [ "$LOWERCASE" = 1 ]; then lower=(-lc); fi
  if [ -e "$PIECES/test.$target" ]; then
    generate "$1" test1 "$out.txt"
    step hypotheses "$out.txt" -o "$out.hyp" --detokenize "$target" --count "$(wc -l <"$RAW/test.$target")"
    sacrebleu "$RAW/test.$target" -i "$out.hyp" -m bleu -w 2 -f text ${lower[@]+"${lower[@]}"} >"$out.bleu.part" 2>"$out.log"
  else # the text of the gold exists in words only
    generate "$1" test "$out.txt"
    step hypotheses "$out.txt" -o "$out.hyp" --count "$(wc -l <"$TOKENIZED/gold.$target")"
    sacrebleu "$TOKENIZED/gold.$target" -i "$out.hyp" -m bleu -w 2 -f text --tokenize none --force >"$out.bleu.part" 2>"$out.log"
  fi || fail "sacrebleu failed: $(tail -n 1 "$out.log")"
  mv "$out.bleu.part" "$out.bleu"
}

translate_step() {
  local run
  announce "8 translating, beam $BEAM, with alignments"
  must_be_trained
  needs fairseq-generate sacrebleu
  mkdir -p "$TRANSLATIONS"
  # shellcheck disable=SC2046
  for_each "$(at_once "$(gpus)")" translate_run $(runs)
  done_after
  for run in $(runs); do printf '    %-14s %s\n' "$run" "$(cat "$TRANSLATIONS/${run//\//.}.bleu")"; done
}

checkpoints() { # DIRECTION: of all seeds
  local seed
  for seed in $SEEDS; do printf '%s\n' "$MODELS/$1/seed$seed/checkpoint_best.pt"; done
}

text_options() { # SOURCE TARGET: how normalign splits the gold's words, which are tokenized already
  local codes
  codes="$(codes_of "$1")"
  if [ "$JOINT" != 1 ]; then codes+=" $(codes_of "$2")"; fi
  if [ "$PIECES_BY" = sentencepiece ]; then printf -- '--sentencepiece-model %s' "$codes"; else printf -- '--bpe-codes %s' "$codes"; fi
}

compare() { # SOURCE TARGET GOLD EXTRA...
  local source=$1 target=$2 gold=$3 out=$RESULTS/compare.$1-$2
  shift 3
  # shellcheck disable=SC2046
  logged "$WORK/9_compare.$source-$target.log" normalign compare --path $(checkpoints "$source-$target") --data "$BINARY" \
    --source "$TOKENIZED/gold.$source" --target "$TOKENIZED/gold.$target" $(text_options "$source" "$target") \
    --gold "$gold" --all-rows $(cpu_option) --figure "$out.png" -o "$out.txt" "$@"
}

others() { # the links of other aligners, from ADD="name=file name=file"
  local other
  for other in ${ADD:-}; do printf -- '--add %s\n' "$other"; done
}

view() { # ARGUMENTS...: what normalign view makes of the gold's sentences and the first models, read with two looks
  # shellcheck disable=SC2046
  normalign view --path "$(checkpoints "$SOURCE-$TARGET" | head -n 1)" --reverse-path "$(checkpoints "$TARGET-$SOURCE" | head -n 1)" \
    --data "$BINARY" --reverse-data "$BINARY" --source-lang "$SOURCE" --target-lang "$TARGET" --source "$TOKENIZED/gold.$SOURCE" \
    --target "$TOKENIZED/gold.$TARGET" $(text_options "$SOURCE" "$TARGET") --gold "$RAW/gold.talp" $(cpu_option) "$@"
}

draw() { # one picture, and the page of all sentences
  logged "$WORK/9_picture.log" view --sentences "${PICTURE:-1}" -o "$RESULTS/alignment.png"
  logged "$WORK/9_page.log" view --html "$RESULTS/alignments.html"
}

compare_step() {
  announce "9 comparing weights, norms and two looks, all layers, both directions"
  if complete "$RESULTS"; then
    already_there
  else
    must_be_trained
    mkdir -p "$RESULTS"
    normalign convert "$RAW/gold.talp" --from talp --from-base 1 --no-reverse-input --to talp --reverse-output -o "$RESULTS/gold.reversed.talp" ||
      fail "the gold could not be turned round"
    # shellcheck disable=SC2046
    compare "$SOURCE" "$TARGET" "$RAW/gold.talp" --reverse-path $(checkpoints "$TARGET-$SOURCE") --reverse-data "$BINARY" --symmetrize grow-diag,grow-diag-final-and,agreed-grow-diag $(others)
    compare "$TARGET" "$SOURCE" "$RESULTS/gold.reversed.talp"
    draw
    touch "$RESULTS/complete"
    done_after
  fi
  cat "$RESULTS/compare.$SOURCE-$TARGET.txt" "$RESULTS/compare.$TARGET-$SOURCE.txt"
  printf '    pictures: %s\n' "$RESULTS"
}

step_with_gold() { # BASE STEP ARGUMENTS...: a step of ours that measures with the gold of a work folder, or with EVALUATED=dev
  local base=$1 name=$2
  shift 2
  step "$name" --data "$base/binary" --languages "$SOURCE" "$TARGET" --text "$base/tokenized/${EVALUATED:-gold}.$SOURCE" "$base/tokenized/${EVALUATED:-gold}.$TARGET" \
    --gold "$base/raw/${EVALUATED:-gold}.talp" "$@"
}

ceiling_step() {
  announce "what is left to find in the attention"
  must_be_trained
  echo
  # shellcheck disable=SC2046
  step_with_gold "$WORK" ceiling --models "$(checkpoints "$SOURCE-$TARGET" | head -n 1)" "$(checkpoints "$TARGET-$SOURCE" | head -n 1)" $(text_options "$SOURCE" "$TARGET")
}

curve_step() { # MORE...: arguments of the step
  local seed=${SEEDS%% *}
  complete "$TOKENIZED" || fail "there is no tokenized text yet; run the steps 1 to 7 first"
  curve_of_models "AER over updates, seed $seed" "$MODELS/$SOURCE-$TARGET/seed$seed" "$MODELS/$TARGET-$SOURCE/seed$seed" "$WORK" "$(text_options "$SOURCE" "$TARGET")" "$@"
}

curve_of_models() { # WHAT FORWARD BACKWARD BASE TEXT_OPTIONS MORE...: BASE has the gold and the dictionaries
  local forward=$2 backward=$3 base=$4 text=$5
  announce "$1"
  shift 5
  mkdir -p "$RESULTS"
  # shellcheck disable=SC2086
  step_with_gold "$base" curve --models "$forward" "$backward" $text --average "${AVERAGE:-1}" \
    --every "${EVERY:-1}" --figure "$RESULTS/curve.png" -o "$RESULTS/curve.tsv" "$@"
  done_after
  cat "$RESULTS/curve.tsv"
}
