#!/usr/bin/env bash
# Links of words become links of pieces; text and links become fairseq's binary data, one folder a direction.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

scheme() { if grep -q '^▁' "$BASE/binary/dict.$SOURCE.txt"; then echo sentencepiece; else echo subword_nmt; fi; }

binarize() { # DIRECTION
  local source=${1%-*} target=${1#*-} split turn=()
  complete "$BINARY/$1" && return
  if [ "$source" = "$TARGET" ]; then turn=(--turn); fi
  for split in train valid; do
    step expand "$TEXT/$split.links" --pieces "$TEXT/$split.$SOURCE" "$TEXT/$split.$TARGET" --scheme "$(scheme)" \
      ${turn[@]+"${turn[@]}"} -o "$TEXT/$split.$1.align"
  done
  rm -rf "${BINARY:?}/$1"
  logged "$WORK/2_binarize.$1.log" fairseq-preprocess --source-lang "$source" --target-lang "$target" \
    --srcdict "$BASE/binary/dict.$source.txt" --tgtdict "$BASE/binary/dict.$target.txt" --align-suffix "$1.align" \
    --trainpref "$TEXT/train" --validpref "$TEXT/valid" --testpref "$TEXT/gold" --destdir "$BINARY/$1"
  touch "$BINARY/$1/complete"
}

announce "2 binarizing text and links"
if complete "$BINARY/$SOURCE-$TARGET" && complete "$BINARY/$TARGET-$SOURCE"; then already_there && exit; fi
complete "$TEXT" || fail "there are no links yet; run 1_teach.sh first"
needs fairseq-preprocess
mkdir -p "$BINARY"
for_each 2 binarize $DIRECTIONS
done_after
