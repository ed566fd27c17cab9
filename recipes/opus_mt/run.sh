#!/usr/bin/env bash
# Aligns the RWTH gold with published models of Hugging Face transformers.   bash recipes/opus_mt/run.sh
set -euo pipefail

MODELS=${MODELS:-opus}
GOLD=${GOLD:-gold}
OUT=${OUT:-opus_mt}
case $MODELS in
  opus) FORWARD=${FORWARD:-Helsinki-NLP/opus-mt-de-en} BACKWARD=${BACKWARD:-Helsinki-NLP/opus-mt-en-de} ;;
  nllb)
    FORWARD=${FORWARD:-facebook/nllb-200-distilled-600M} BACKWARD=${BACKWARD:-}
    SOURCE_LANG=${SOURCE_LANG:-deu_Latn} TARGET_LANG=${TARGET_LANG:-eng_Latn}
    ;;
  own) FORWARD=${FORWARD:?a folder or hub name} BACKWARD=${BACKWARD:-} ;;
  *) echo "MODELS=$MODELS: opus, nllb or own" >&2 && exit 2 ;;
esac
for file in test.de test.en alignment.talp; do
  [ -f "$GOLD/$file" ] || { echo "$GOLD/$file: no such file; GOLD names the folder of the RWTH gold" >&2 && exit 2; }
done

model=(--path "$FORWARD")
[ -z "${SOURCE_LANG:-}" ] || model+=(--source-lang "$SOURCE_LANG")
[ -z "${TARGET_LANG:-}" ] || model+=(--target-lang "$TARGET_LANG")
if [ -n "$BACKWARD" ]; then other=(--reverse-path "$BACKWARD"); else other=(--reverse); fi
text=(--source "$GOLD/test.de" --target "$GOLD/test.en")
[ -z "${LOWERCASE:-}" ] || text+=(--lowercase)

mkdir -p "$OUT"
normalign align "${model[@]}" "${text[@]}" -o "$OUT/forward.links"
normalign align "${model[@]}" "${other[@]}" "${text[@]}" -o "$OUT/both.links"
normalign score "$GOLD/alignment.talp" "$OUT/forward.links" "$OUT/both.links" | tee "$OUT/score.txt"
normalign compare "${model[@]}" "${text[@]}" --gold "$GOLD/alignment.talp" -o "$OUT/compare.txt"
echo "all of it in $OUT/: forward.links, both.links, score.txt, compare.txt"
