# What every step of this recipe shares; sourced, never run. Every variable can be set from outside; the README has a table.
# shellcheck shell=bash disable=SC2034
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BASE=${BASE:-$HERE/../wmt16_de_en/work} # the work folder of a recipe whose steps 1 to 7 are done: the teachers
WORK=${WORK:-$HERE/work}

SEED=${SEED:-1}                        # which of the teachers' seeds, and the seed of this training
PAIRS=${PAIRS:-100000}                 # of the training text, the first so many; 0: all
EARLIER=${EARLIER:-}                   # the work folder of an earlier round, whose models teach this one
TEACHER_READINGS=${TEACHER_READINGS:-auto} # what teaches: two looks, chosen by the text; or for example 1.2:awi,3:awo
TEACHER_SYMMETRIZE=${TEACHER_SYMMETRIZE:-agreed-grow-diag} # all its links: a word that is taught one link of two learns one
TEACHER_LEARN=${TEACHER_LEARN-looks}   # an HMM of the text beside the looks: looks, words, or nothing
GUIDED_LAYER=${GUIDED_LAYER:-}         # the layer that learns; empty: see guided_layer below
GUIDED_NULL=${GUIDED_NULL:-0}
FULL_CONTEXT=${FULL_CONTEXT:-1}        # 1: an aligner that sees the whole target; 0: a Transformer that still could translate
TRANSLATION_WEIGHT=${TRANSLATION_WEIGHT:-0}
FLOOR=${FLOOR:-0.25}                   # of what is read of a layer that was taught: it is surer of its links than two looks are
LEARNING_RATE=${LEARNING_RATE:-2e-3} WARMUP=${WARMUP:-400} DROPOUT=${DROPOUT:-0.1}
MAX_TOKENS=${MAX_TOKENS:-3000} MAX_UPDATE=${MAX_UPDATE:-4000} SAVE_UPDATES=${SAVE_UPDATES:-500}
AVERAGE=${AVERAGE:-3}                  # the last so many checkpoints, whose mean is the model
JOBS=${JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)}
LANGUAGES=${LANGUAGES:-de en}           # of the gold, as the recipe of BASE has them: source target
SOURCE=${LANGUAGES% *} TARGET=${LANGUAGES#* }
DIRECTIONS="$SOURCE-$TARGET $TARGET-$SOURCE"

TEXT=$WORK/text       # the pairs in pieces, and their links
BINARY=$WORK/binary   # one folder a direction: links are source-target
MODELS=$WORK/models
MEAN=checkpoint_mean.pt # of each model: the mean of its last checkpoints
RESULTS=$WORK/results

# shellcheck source=../common/steps.sh
. "$HERE/../common/steps.sh"
# shellcheck source=../common/model.sh
. "$HERE/../common/model.sh"

translator() { printf '%s' "$BASE/models/$1/seed$SEED/checkpoint_best.pt"; } # DIRECTION

teacher() { # DIRECTION: a translation model, or what an earlier round made of it
  if [ -n "$EARLIER" ]; then printf '%s' "$EARLIER/models/$1/$MEAN"; else translator "$1"; fi
}

of_two_looks() { printf -- '--readings %s' "$TEACHER_READINGS"; } # how a translation model is read

of_guided() { # how a layer that was taught is read
  local null=best
  if [ "$GUIDED_NULL" != 0 ]; then null=unaligned; fi
  printf -- '--readings %s:awi --null %s --floor %s' "$(guided_layer)" "$null" "$FLOOR"
}

guided_layer() { # an aligner needs depth below its look: 4 of 6, 2 of 3; a Transformer looks at its input word in 2 of 6, 1 of 3
  local layers thirds=1
  if [ -n "$GUIDED_LAYER" ]; then printf '%s' "$GUIDED_LAYER" && return; fi
  layers=$(step model-options "$(translator "$SOURCE-$TARGET")" | sed 's/.*--decoder-layers \([0-9]*\).*/\1/')
  if [ "$FULL_CONTEXT" = 1 ]; then thirds=2; fi
  printf '%s' "$(((thirds * layers + 2) / 3))"
}

[ -e "$BASE/binary/dict.$SOURCE.txt" ] || fail "BASE=$BASE: no binary data there; run the steps 1 to 7 of the recipe that it belongs to"
for direction in $DIRECTIONS; do
  [ -e "$(translator "$direction")" ] || fail "BASE=$BASE: no model $(translator "$direction"); run 7_train.sh there"
  [ -e "$(teacher "$direction")" ] || fail "EARLIER=$EARLIER: no model $(teacher "$direction"); run 3_train.sh there"
done
