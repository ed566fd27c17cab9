#!/usr/bin/env bash
# Every way to align with the models, next to statistical aligners of the same text, with intervals and paired tests.
#   EVALUATED=dev        the 37 trial pairs, for choices; otherwise the 447 test pairs (gold)
#   PROGRAMS=DIR         where eflomal-align and fast_align are, if they are not on PATH; without them their rows are left out
#   GUIDED=DIR           the work folder of recipes/guided with students of these models, for their rows
#   LEARN_PAIRS=200000   of the training text, what the HMM learns from; 0 leaves its rows out
: "${EVALUATED:=gold}" "${PROGRAMS:=}" "${GUIDED:=}" "${LEARN_PAIRS:=200000}"
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
OUT=$RESULTS/$EVALUATED
STATISTICAL=$WORK/statistical
LEARNED=$WORK/learned      # the text of the HMM
CHOSEN=$RESULTS/choice     # the readings of both models, chosen by valid, without gold
FORWARD=$SOURCE-$TARGET BACKWARD=$TARGET-$SOURCE

mean_of() { printf '%s' "$MODELS/$1/seed${SEEDS%% *}/checkpoint_mean.pt"; } # DIRECTION

average_last() { # DIRECTION: the mean of the last three checkpoints that were kept
  local kept=()
  [ -e "$(mean_of "$1")" ] && return
  mapfile -t kept < <(find "$MODELS/$1/seed${SEEDS%% *}" -name 'checkpoint_[0-9]*_[0-9]*.pt' | sort -V | tail -n 3)
  logged "$WORK/mean.log" python -m recipe_steps average "${kept[@]}" -o "$(mean_of "$1")"
}

normalign_with() { # VERB DIRECTION TEXT ARGUMENTS...: with the model of a direction, on TEXT.$SOURCE and TEXT.$TARGET
  local verb=$1 source=${2%-*} target=${2#*-} text=$3
  # shellcheck disable=SC2046
  logged "$WORK/results.log" normalign "$verb" --path "$(mean_of "$2")" --data "$BINARY" --source-lang "$source" --target-lang "$target" \
    $(text_options "$source" "$target") --source "$text.$source" --target "$text.$target" $(cpu_option) "${@:4}"
}

one_direction() { # NAME DIRECTION ARGUMENTS...: links are source-target whatever the direction
  rows+=("$1")
  [ -e "$OUT/$1" ] && return
  normalign_with align "$2" "$TOKENIZED/$EVALUATED" -o "$OUT/$1.part" "${@:3}"
  if [ "$2" = "$BACKWARD" ]; then turn=--reverse-input; else turn=--no-reverse-input; fi
  normalign convert "$OUT/$1.part" --from pharaoh "$turn" --to pharaoh -o "$OUT/$1" && rm "$OUT/$1.part"
}

both=(--reverse-path "$(mean_of "$BACKWARD")" --reverse-data "$BINARY")

both_directions() { # NAME ARGUMENTS...
  rows+=("$1")
  [ -e "$OUT/$1" ] || normalign_with align "$FORWARD" "$TOKENIZED/$EVALUATED" "${both[@]}" -o "$OUT/$1" "${@:2}"
}

places() { sed -n 's/.*"readings": "\(.*\)".*/\1/p' "$CHOSEN.$1" | sed 's/norms://g'; } # DIRECTION: the layers, heads and steps that were chosen

statistical() { # PROGRAM COMMAND: learns from the training text and the sentences of gold and dev, once for both
  local language way first=1 count
  PATH=${PROGRAMS:+$PROGRAMS:}$PATH command -v "$2" >/dev/null || return 0
  mkdir -p "$STATISTICAL"
  for language in $LANGUAGES; do cat "$TOKENIZED/gold.$language" "$TOKENIZED/dev.$language" >"$STATISTICAL/text.$language"; done
  [ -e "$STATISTICAL/$1.json" ] || logged "$WORK/$1.log" normalign baseline "$1" ${PROGRAMS:+--programs "$PROGRAMS"} \
    --source "$STATISTICAL/text.$SOURCE" --target "$STATISTICAL/text.$TARGET" --train "$TOKENIZED/train.$SOURCE" "$TOKENIZED/train.$TARGET" \
    --symmetrize grow-diag --symmetrize grow-diag-free --symmetrize intersection -o "$STATISTICAL/$1"
  count=$(wc -l <"$TOKENIZED/gold.$SOURCE")
  if [ "$EVALUATED" = dev ]; then first=$((count + 1)) count=$(wc -l <"$TOKENIZED/dev.$SOURCE"); fi
  for way in grow-diag grow-diag-free intersection forward backward; do
    sed -n "$first,$((first + count - 1))p" "$STATISTICAL/$1.$way" >"$OUT/$1.$way"
    rows+=("$1.$way")
  done
}

announce "aligning the ${EVALUATED} pairs in every way"
must_be_trained
mkdir -p "$OUT"
for direction in $DIRECTIONS; do average_last "$direction"; done
[ -e "$CHOSEN.$BACKWARD" ] ||
  normalign_with layers "$FORWARD" "$CLEAN/valid" "${both[@]}" --save "$CHOSEN.$FORWARD" --save-reverse "$CHOSEN.$BACKWARD" -o "$RESULTS/layers.txt"
for language in $LANGUAGES; do
  [ -e "$LEARNED.$language" ] || head -n "$LEARN_PAIRS" "$CLEAN/train.$language" >"$LEARNED.$language"
done
chosen=(--choice "$CHOSEN.$FORWARD" "$CHOSEN.$BACKWARD")
hmm=(--learn looks --learn-from "$LEARNED.$SOURCE" "$LEARNED.$TARGET")

rows=()
statistical eflomal eflomal-align # its grow-diag is what every other row is tested against
statistical fast_align fast_align
for direction in $DIRECTIONS; do
  one_direction "looks.$direction" "$direction" --choice "$CHOSEN.$direction"
  one_direction "looks.$direction.argmax" "$direction" --choice "$CHOSEN.$direction" --decide argmax
done
both_directions looks "${chosen[@]}"
both_directions looks.weights --method weights --readings "$(places "$FORWARD")" --reverse-readings "$(places "$BACKWARD")"
for way in grow-diag grow-diag-free agreed-intersection; do both_directions "looks.$way" "${chosen[@]}" --symmetrize "$way"; done
if [ "$LEARN_PAIRS" -gt 0 ]; then both_directions looks.learned "${chosen[@]}" "${hmm[@]}"; fi
if [ -e "$OUT/eflomal.forward" ]; then
  votes=(--vote "$OUT/eflomal.forward" "$OUT/eflomal.backward")
  both_directions looks.voted "${chosen[@]}" "${votes[@]}"
fi
if [ -n "$GUIDED" ]; then
  rows+=(guided)
  logged "$WORK/results.log" normalign align --path "$GUIDED/models/$FORWARD/checkpoint_mean.pt" --reverse-path "$GUIDED/models/$BACKWARD/checkpoint_mean.pt" \
    --data "$BINARY" --reverse-data "$BINARY" --source-lang "$SOURCE" --target-lang "$TARGET" --readings 2:awi --floor 0.25 \
    --bpe-codes "$PIECES/codes" --source "$TOKENIZED/$EVALUATED.$SOURCE" --target "$TOKENIZED/$EVALUATED.$TARGET" $(cpu_option) -o "$OUT/guided"
  both_directions looks.voted-by-guided "${chosen[@]}" --vote "$OUT/guided"
fi
done_after

gold=$(cd "$RAW" && pwd)/$EVALUATED.talp
(cd "$OUT" && normalign score "$gold" "${rows[@]}" --gold-format talp --gold-base 1 --no-reverse-gold \
  --hyp-format pharaoh --hyp-base 0 --no-reverse-hyp --bootstrap 1000 --paired -o score.txt) || exit
cat "$OUT/score.txt"
