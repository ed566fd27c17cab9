#!/usr/bin/env bash
# Aligns the gold's text with the guided models, one way and symmetrized, and scores it beside two looks of the models that
# they come from, and beside what they were taught (teacher); voted: two looks with the guided models' links as votes.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

WAYS="agreed-grow-diag grow-diag" # the first is what every other row is tested against

guided() { printf '%s' "$MODELS/$1/$MEAN"; } # DIRECTION

align() { # NAME ARGUMENTS...
  local out=$RESULTS/$1.links
  shift
  # shellcheck disable=SC2046
  logged "$WORK/4_compare.log" normalign align --source-lang "$SOURCE" --target-lang "$TARGET" --data "$BASE/binary" \
    --source "$TEXT/gold.$SOURCE" --target "$TEXT/gold.$TARGET" $(cpu_option) -o "$out" "$@"
}

every_way() { # NAME PATH REVERSE_PATH READING...: one direction alone, and both directions combined
  local name=$1 path=$2 reverse=$3 way
  shift 3
  align "$name.one-direction" --path "$path" --decide grow-diag "$@"
  for way in $WAYS; do
    align "$name.$way" --path "$path" --reverse-path "$reverse" --reverse-data "$BASE/binary" --symmetrize "$way" "$@"
  done
}

announce "4 comparing with two looks"
for direction in $DIRECTIONS; do
  [ -e "$(guided "$direction")" ] || fail "there is no guided model $direction yet; run 3_train.sh first"
done
mkdir -p "$RESULTS"
# shellcheck disable=SC2046
every_way looks "$(translator "$SOURCE-$TARGET")" "$(translator "$TARGET-$SOURCE")" $(of_two_looks)
# shellcheck disable=SC2046
every_way guided "$(guided "$SOURCE-$TARGET")" "$(guided "$TARGET-$SOURCE")" $(of_guided)
# shellcheck disable=SC2046
align voted --path "$(translator "$SOURCE-$TARGET")" --reverse-path "$(translator "$TARGET-$SOURCE")" --reverse-data "$BASE/binary" $(of_two_looks) \
  --vote "$RESULTS/guided.agreed-grow-diag.links"
cp "$TEXT/gold.links" "$RESULTS/teacher.links"
files=(looks.agreed-grow-diag.links guided.agreed-grow-diag.links teacher.links voted.links)
for way in grow-diag one-direction; do files+=("looks.$way.links" "guided.$way.links"); done
gold=$(cd "$BASE/raw" && pwd)/gold.talp
(cd "$RESULTS" && normalign score "$gold" "${files[@]}" \
  --gold-format talp --gold-base 1 --no-reverse-gold --hyp-format pharaoh --hyp-base 0 --no-reverse-hyp \
  --bootstrap 1000 --paired -o score.txt) || exit
done_after
cat "$RESULTS/score.txt"
