# The sizes of models and trainings. A variable that is set already keeps its value. Sourced by settings.sh.
#   PRESET=paper   Kobayashi et al. (2020), Table 5; PRESET=cpu   small enough for two cores
# shellcheck shell=bash disable=SC2034
case ${PRESET:=paper} in
  paper)
    : "${ARCH:=transformer_normalign}" "${MODEL_OPTIONS:=}" "${MERGES:=32000}" "${LOWERCASE:=0}"
    : "${LEARNING_RATE:=5e-4}" "${WARMUP:=4000}" "${WARMUP_INIT:=1e-7}" "${WEIGHT_DECAY:=1e-4}" "${CLIP:=0.0}" "${DROPOUT:=0.1}"
    : "${BATCH_TOKENS:=32768}" "${MAX_TOKENS:=4096}" "${MAX_EPOCH:=40}" "${MAX_UPDATE:=0}" "${SAVE_UPDATES:=2000}"
    : "${MAX_WORDS:=250}" "${MAX_RATIO:=1.5}"
    ;;
  cpu)
    : "${ARCH:=transformer_normalign}" "${MERGES:=8000}" "${LOWERCASE:=1}" "${CRITERION:=chunked_cross_entropy}"
    : "${LAYERS:=3}" "${WIDTH:=128}" "${FEED_FORWARD:=256}" "${HEADS:=4}"
    : "${MODEL_OPTIONS:=--encoder-layers $LAYERS --encoder-embed-dim $WIDTH --encoder-ffn-embed-dim $FEED_FORWARD --encoder-attention-heads $HEADS --decoder-layers $LAYERS --decoder-embed-dim $WIDTH --decoder-ffn-embed-dim $FEED_FORWARD --decoder-attention-heads $HEADS}"
    : "${LEARNING_RATE:=3e-3}" "${WARMUP:=600}" "${WARMUP_INIT:=1e-7}" "${WEIGHT_DECAY:=0}" "${CLIP:=1.0}" "${DROPOUT:=0.05}"
    : "${BATCH_TOKENS:=3000}" "${MAX_TOKENS:=3000}" "${MAX_EPOCH:=40}" "${MAX_UPDATE:=4000}" "${SAVE_UPDATES:=500}"
    : "${MAX_WORDS:=60}" "${MAX_RATIO:=1.5}" "${VALID_LIMIT:=500}" "${GPUS:=0}"
    ;;
  *)
    printf 'error: PRESET=%s; choose paper or cpu\n' "$PRESET" >&2
    exit 2
    ;;
esac
: "${CRITERION:=label_smoothed_cross_entropy}" "${SEEDS:=1}" "${JOINT:=1}" "${PIECES_BY:=bpe}" "${VALID_LIMIT:=3000}" "${BEAM:=5}" "${EXTRA_TRAIN_OPTIONS:=}" "${START:=}"
: "${LANGUAGES:=de en}" "${TOKENIZE:=1}"
SOURCE=${LANGUAGES% *} TARGET=${LANGUAGES#* }
: "${DIRECTIONS:=$SOURCE-$TARGET $TARGET-$SOURCE}" "${JOBS:=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)}"

RAW=$WORK/raw             # one file a split and language; the gold's text, and gold.talp
TOKENIZED=$WORK/tokenized
CLEAN=$WORK/clean
PIECES=$WORK/pieces       # after BPE or SentencePiece, and the codes or models
BINARY=$WORK/binary       # what fairseq reads; it serves both directions
MODELS=$WORK/models       # DIRECTION/seedN
TRANSLATIONS=$WORK/translations
RESULTS=$WORK/results
