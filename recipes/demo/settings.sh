# What every step of the demo shares; sourced, never run. Each variable can be set from outside, for example
#   UPDATES=2000 WORK=/some/where bash recipes/demo/run.sh
# shellcheck shell=bash disable=SC2034
DEMO=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=${WORK:-$DEMO/work}

SEED=${SEED:-1}
TRAIN=${TRAIN:-20000} VALID=${VALID:-500} TEST=${TEST:-500} # sentence pairs
MERGES=${MERGES:-2000}                                      # of subword-nmt, joint
UPDATES=${UPDATES:-2000}
TOKENS=${TOKENS:-1500} # a batch
LEARNING_RATE=${LEARNING_RATE:-5e-3} WARMUP=${WARMUP:-200}
ENCODER_LAYERS=${ENCODER_LAYERS:-1} LAYERS=${LAYERS:-3} # of encoder and decoder
WIDTH=${WIDTH:-96} FEED_FORWARD=${FEED_FORWARD:-192} HEADS=${HEADS:-4}
BEAM=${BEAM:-4}
SENTENCE=${SENTENCE:-8} # of the test set, from 1: the one that is shown

ARCH=${ARCH:-transformer_normalign}
TASK=${TASK:-translation_normalign}
DIRECTIONS="de-en en-de"

RAW=$WORK/raw           # text as people write it, and the gold alignment
TOKENIZED=$WORK/tokenized
PIECES=$WORK/pieces     # after BPE
BINARY=$WORK/binary     # what fairseq reads; it serves both directions
MODELS=$WORK/models     # one folder a direction
TRANSLATIONS=$WORK/translations
RESULTS=$WORK/results

# shellcheck source=../common/steps.sh
. "$DEMO/../common/steps.sh"

user_dir_arguments() { # what makes fairseq load this package, unless a stock task is tried out
  case $TASK in *normalign*) printf -- '--user-dir %s' "$(user_dir)" ;; esac
}

training_arguments() { # the same for training, with the criterion
  case $TASK in *normalign*) printf -- '--user-dir %s' "$TRAINING" ;; esac
}

criterion() { # one loss, which ours computes faster on a CPU
  case $TASK in *normalign*) echo chunked_cross_entropy ;; *) echo label_smoothed_cross_entropy ;; esac
}

needs_models() {
  local direction
  for direction in $DIRECTIONS; do
    [ -e "$MODELS/$direction/complete" ] || fail "there is no model $direction yet; run 3_train.sh first"
  done
}

both_directions() { # both_directions FUNCTION: once for each direction, at the same time
  # shellcheck disable=SC2086
  for_each 2 "$1" $DIRECTIONS
}
