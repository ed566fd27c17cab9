#!/usr/bin/env bash
# Aligns train, valid and gold text by two looks of the teachers of both directions: what the guided models learn from.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

take_pairs() { # LANGUAGE
  if [ "$PAIRS" -gt 0 ]; then head -n "$PAIRS" "$BASE/pieces/train.$1"; else cat "$BASE/pieces/train.$1"; fi >"$TEXT/train.$1.part"
  mv "$TEXT/train.$1.part" "$TEXT/train.$1"
  cp "$BASE/pieces/valid.$1" "$BASE/pieces/gold.$1" "$TEXT"
}

reading() { if [ -n "$EARLIER" ]; then of_guided; else of_two_looks; fi; }

align_split() { # SPLIT
  [ -e "$TEXT/$1.links" ] && return
  # shellcheck disable=SC2046
  logged "$WORK/1_teach.$1.log" normalign align --path "$(teacher de-en)" --reverse-path "$(teacher en-de)" \
    --source-lang de --target-lang en --data "$BASE/binary" --reverse-data "$BASE/binary" \
    --source "$TEXT/$1.de" --target "$TEXT/$1.en" $(reading) --symmetrize "$TEACHER_SYMMETRIZE" $(cpu_option) \
    -o "$TEXT/$1.links" --resume
}

announce "1 aligning the training text by the teachers"
if complete "$TEXT"; then already_there && exit; fi
mkdir -p "$TEXT"
take_pairs de
take_pairs en
for split in gold valid train; do align_split "$split"; done
touch "$TEXT/complete"
done_after
