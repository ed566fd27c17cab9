#!/usr/bin/env bash
# Moses tokens in lower case, byte-pair encoding, and fairseq's binary form.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

tokenize() { # LANGUAGE
  local split
  for split in train valid test; do
    sacremoses -q -l "$1" -j 1 tokenize <"$RAW/$split.$1" |
      python -c 'import sys; sys.stdout.writelines(line.lower() for line in sys.stdin)' >"$TOKENIZED/$split.$1" || return
  done
}

encode() { # LANGUAGE
  local split
  for split in train valid test; do
    subword-nmt apply-bpe -c "$PIECES/codes" <"$TOKENIZED/$split.$1" >"$PIECES/$split.$1" || return
  done
}

both_languages() { # FUNCTION: once for each language, at the same time
  "$1" de &
  "$1" en && wait $!
}

prepare_text() {
  mkdir -p "$TOKENIZED" "$PIECES" &&
    both_languages tokenize &&
    cat "$TOKENIZED/train.de" "$TOKENIZED/train.en" | subword-nmt learn-bpe -s "$MERGES" >"$PIECES/codes" &&
    both_languages encode
}

binarize() { # one set of files serves both directions
  rm -rf "${BINARY:?}"
  logged "$WORK/2_binarize.log" fairseq-preprocess --source-lang de --target-lang en --joined-dictionary \
    --trainpref "$PIECES/train" --validpref "$PIECES/valid" --testpref "$PIECES/test" --destdir "$BINARY"
}

announce "2 tokenizing, splitting into pieces ($MERGES merges), binarizing"
if [ -e "$BINARY/complete" ]; then already_there && exit; fi
[ -e "$RAW/complete" ] || fail "there is no corpus yet; run 1_corpus.sh first"
logged "$WORK/2_prepare.log" prepare_text
binarize
touch "$BINARY/complete"
done_after
