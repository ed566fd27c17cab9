#!/usr/bin/env bash
# Translates the test set with fairseq-generate, which prints the alignment of each translation: two looks, in words.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

translate() { # DIRECTION
  local source=${1%-*} target=${1#*-} out=$TRANSLATIONS/$1.txt
  [ -e "$out" ] && return
  # shellcheck disable=SC2046
  logged "$WORK/4_translate.$1.log" fairseq-generate "$BINARY" --source-lang "$source" --target-lang "$target" $(user_dir_arguments) \
    --task "$TASK" --path "$MODELS/$1/checkpoint_best.pt" --gen-subset test --beam "$BEAM" --max-tokens 6000 --cpu \
    --num-workers 0 --print-alignment hard --post-process subword_nmt
  cp "$WORK/4_translate.$1.log" "$out.part"
  mv "$out.part" "$out"
}

bleu() { # DIRECTION
  sed -n 's/.*BLEU4 = \([0-9.]*\).*/\1/p' "$TRANSLATIONS/$1.txt"
}

example() { # what fairseq-generate printed for one sentence of the test set; its ids count from 0
  grep -P "^[STHA]-$((SENTENCE - 1))\t" "$TRANSLATIONS/de-en.txt" | cut -f1,2-3 | sed 's/^/    /'
}

announce "4 translating the test set with alignments, beam $BEAM"
if [ -e "$TRANSLATIONS/de-en.txt" ] && [ -e "$TRANSLATIONS/en-de.txt" ]; then
  already_there
else
  needs_models
  mkdir -p "$TRANSLATIONS"
  both_directions translate
  done_after
fi
printf '  BLEU of the test set (tokenized, lower-cased): de-en %s, en-de %s\n' "$(bleu de-en)" "$(bleu en-de)"
example
