#!/usr/bin/env bash
# Aligns train, valid and gold text by two looks of the teachers of both directions: what the guided models learn from.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

take_pairs() { # LANGUAGE
  if [ "$PAIRS" -gt 0 ]; then head -n "$PAIRS" "$BASE/pieces/train.$1"; else cat "$BASE/pieces/train.$1"; fi >"$TEXT/train.$1.part"
  mv "$TEXT/train.$1.part" "$TEXT/train.$1"
  cp "$BASE/pieces/valid.$1" "$BASE/pieces/gold.$1" "$TEXT"
}

reading() { if [ -n "$EARLIER" ]; then of_guided; else of_two_looks; fi; }

learning() { if [ -n "$TEACHER_LEARN" ]; then printf -- '--learn %s' "$TEACHER_LEARN"; fi; }

together() { # LANGUAGE: all splits in one text, so that what is learned from it serves all of them
  for split in $SPLITS; do cat "$TEXT/$split.$1"; done >"$TEXT/all.$1.part"
  mv "$TEXT/all.$1.part" "$TEXT/all.$1"
}

align_all() {
  [ -e "$TEXT/all.links" ] && return
  # shellcheck disable=SC2046
  logged "$WORK/1_teach.log" normalign align --path "$(teacher "$SOURCE-$TARGET")" --reverse-path "$(teacher "$TARGET-$SOURCE")" \
    --source-lang "$SOURCE" --target-lang "$TARGET" --data "$BASE/binary" --reverse-data "$BASE/binary" \
    --source "$TEXT/all.$SOURCE" --target "$TEXT/all.$TARGET" $(reading) --symmetrize "$TEACHER_SYMMETRIZE" $(learning) $(cpu_option) \
    -o "$TEXT/all.links"
}

apart() { # the links of each split
  local first=1 count
  for split in $SPLITS; do
    count=$(wc -l <"$TEXT/$split.$SOURCE")
    sed -n "$first,$((first + count - 1))p" "$TEXT/all.links" >"$TEXT/$split.links"
    first=$((first + count))
  done
}

SPLITS="gold valid train"
announce "1 aligning the training text by the teachers"
if complete "$TEXT"; then already_there && exit; fi
mkdir -p "$TEXT"
for language in $LANGUAGES; do
  take_pairs "$language"
  together "$language"
done
align_all
apart
rm "$TEXT"/all.*
touch "$TEXT/complete"
done_after
