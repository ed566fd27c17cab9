#!/usr/bin/env bash
# Damage the pairs of a bitext, check them, and print how well each column tells them apart.
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: PATH_=MODEL [REVERSE=MODEL] [CODES=FILE] run.sh SOURCE TARGET OUT" >&2; exit 2; }
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${PATH_:?set PATH_ to the model that translates the source}"
PYTHON=${PYTHON:-python}
mkdir -p "$3"
read -r -a raw <<< "${TOKENIZER:+--tokenizer $TOKENIZER --lowercase}"
read -r -a third <<< "${THIRD:+--third $THIRD}"
"$PYTHON" "$HERE/damage.py" --source "$1" --target "$2" "${raw[@]}" "${third[@]}" --pairs "${PAIRS:-400}" --seed "${SEED:-1}" "$3/bed"
models=(--path "$PATH_")
[ -z "${REVERSE:-}" ] || models+=(--reverse-path "$REVERSE")
[ -z "${CODES:-}" ] || models+=(--bpe-codes "$CODES")
normalign check "${models[@]}" --source "$3/bed.source" --target "$3/bed.target" --json --by-word \
  -o "$3/scores.jsonl" ${CHECK_OPTIONS:-}
others=()
if [ -n "${TRAIN:-}" ]; then
  read -r -a train <<< "$TRAIN"
  "$PYTHON" "$HERE/eflomal_scores.py" "$3/bed" "$3/eflomal.txt" --train "${train[@]}" "${raw[@]}"
  others+=(--column "eflomal=$3/eflomal.txt")
fi
for half in even odd; do
  "$PYTHON" "$HERE/measure.py" "$3/bed" "$3/scores.jsonl" --half "$half" "${others[@]}" > "$3/$half.txt"
done
cat "$3/odd.txt"
if [ -n "${REVERSE:-}" ] && [ -n "${COST:-}" ]; then
  "$PYTHON" "$HERE/cost.py" "${models[@]}" --source "$3/bed.source" --target "$3/bed.target" | tee "$3/cost.txt"
fi
