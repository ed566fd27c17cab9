# From public archives, or a local corpus, to fairseq's binary data: the steps 1 to 6 of the recipes. Sourced.
# shellcheck shell=bash

download_step() { # LIST
  announce "1 downloading"
  if [ -n "${CORPUS:-}" ]; then
    [ -d "$CORPUS" ] || fail "CORPUS=$CORPUS is not a directory"
    printf '%s\n' "nothing to do: CORPUS=$CORPUS" && return
  fi
  [ -t 2 ] && echo
  step download "$1" --to "$WORK/download" --mirror "${MIRROR:-}" --accept "${ACCEPT:-}"
  done_after
}

gather_step() { # PART...: as recipe_steps gather wants them
  announce "2 gathering the raw text and the gold"
  if complete "$RAW"; then already_there && return; fi
  local options=() part
  if [ -n "${CORPUS:-}" ]; then
    options=(--corpus "$CORPUS")
  else
    for part in "$@"; do options+=(--part "${part/=/=$WORK/download/}"); done
    options+=(--gold ${GOLD:+"$GOLD"} "$WORK/gold" --hold-out "${HOLD_OUT:-0}")
  fi
  step gather --to "$RAW" "${options[@]}" ${LIMIT:+--limit "$LIMIT"}
  touch "$RAW/complete"
  done_after
}

tokenize_file() { # SPLIT.LANGUAGE
  local language=${1##*.} options=(--jobs "$JOBS")
  [ "$LOWERCASE" = 1 ] && options+=(--lowercase)
  case $1 in gold.* | dev.*) options+=(--tokenized) ;; *) [ "$TOKENIZE" = 1 ] || options+=(--tokenized) ;; esac
  [ -e "$TOKENIZED/$1" ] || step tokenize "$RAW/$1" "$TOKENIZED/$1" --language "$language" "${options[@]}"
}

tokenize_step() {
  local split language
  announce "3 tokenizing as the gold is tokenized"
  if complete "$TOKENIZED"; then already_there && return; fi
  complete "$RAW" || fail "there is no raw text yet; run 2_gather.sh first"
  mkdir -p "$TOKENIZED"
  for split in train valid test gold dev; do
    for language in $LANGUAGES; do
      if [ -e "$RAW/$split.$language" ]; then tokenize_file "$split.$language"; fi
    done
  done
  touch "$TOKENIZED/complete"
  done_after
  [ "$TOKENIZE" = 1 ] || return 0
  for language in $LANGUAGES; do step check-tokens "$RAW/gold.$language" --language "$language"; done
}

clean_step() {
  local held_out=() split language
  announce "4 cleaning"
  if complete "$CLEAN"; then already_there && return; fi
  complete "$TOKENIZED" || fail "there is no tokenized text yet; run 3_tokenize.sh first"
  mkdir -p "$CLEAN"
  for split in gold dev test; do
    if [ -e "$TOKENIZED/$split.$SOURCE" ]; then held_out+=("$TOKENIZED/$split"); fi
  done
  # shellcheck disable=SC2086
  [ -e "$CLEAN/valid.all.$TARGET" ] || step clean "$TOKENIZED/valid" "$CLEAN/valid.all" --languages $LANGUAGES --max-words "$MAX_WORDS" --max-ratio "$MAX_RATIO" \
    --without "${held_out[@]}" >"$WORK/4_clean.valid.log"
  for language in $LANGUAGES; do head -n "$VALID_LIMIT" "$CLEAN/valid.all.$language" >"$CLEAN/valid.short.$language"; done
  # shellcheck disable=SC2086
  step clean "$TOKENIZED/train" "$CLEAN/train" --languages $LANGUAGES --max-words "$MAX_WORDS" --max-ratio "$MAX_RATIO" \
    --without "${held_out[@]}" "$CLEAN/valid.short" >"$WORK/4_clean.train.log"
  for language in $LANGUAGES; do mv "$CLEAN/valid.short.$language" "$CLEAN/valid.$language"; done
  rm "$CLEAN"/valid.all.*
  touch "$CLEAN/complete"
  done_after
  printf '    %s\n' "$(cat "$WORK/4_clean.train.log")"
}

codes_of() { # LANGUAGE: the file that splits its words
  case $JOINT in 1) printf '%s' "$PIECES/codes" ;; *) printf '%s' "$PIECES/codes.$1" ;; esac
}

learn_codes() { # CODES TEXT...: where START= names models to go on from, theirs
  local codes=$1 there
  shift
  [ -e "$codes" ] && return
  if [ -n "$START" ]; then
    there=$(of_start "${codes##*/}") || exit
    cp "$there" "$codes.part" && mv "$codes.part" "$codes"
    return
  fi
  if [ "$PIECES_BY" = sentencepiece ]; then
    cat "$@" >"$PIECES/text.part"
    step sentencepiece "$PIECES/text.part" --model "$codes" --train "$MERGES"
    rm "$PIECES/text.part"
  else
    cat "$@" | subword-nmt learn-bpe -s "$MERGES" >"$codes.part" 2>"$WORK/5_learn.log" ||
      fail "subword-nmt learn-bpe failed: $(tail -n 1 "$WORK/5_learn.log")"
    mv "$codes.part" "$codes"
  fi
}

split_file() { # TEXT OUTPUT
  [ -e "$2" ] && return
  if [ "$PIECES_BY" = sentencepiece ]; then
    step sentencepiece "$1" --model "$(codes_of "${1##*.}")" --output "$2"
  else
    subword-nmt apply-bpe -c "$(codes_of "${1##*.}")" --num-workers 1 <"$1" >"$2.part" 2>"$2.log" ||
      fail "subword-nmt apply-bpe failed: $(tail -n 1 "$2.log")"
    mv "$2.part" "$2"
    rm "$2.log"
  fi
}

split_language() { # LANGUAGE
  local split
  split_file "$CLEAN/train.$1" "$PIECES/train.$1"
  split_file "$CLEAN/valid.$1" "$PIECES/valid.$1"
  split_file "$TOKENIZED/gold.$1" "$PIECES/gold.$1"
  for split in test dev; do
    if [ -e "$TOKENIZED/$split.$1" ]; then split_file "$TOKENIZED/$split.$1" "$PIECES/$split.$1"; fi
  done
}

pieces_step() {
  local language
  announce "5 splitting words into pieces ($PIECES_BY, $MERGES)"
  if complete "$PIECES"; then already_there && return; fi
  complete "$CLEAN" || fail "there is no clean text yet; run 4_clean.sh first"
  case $PIECES_BY in
    bpe) needs subword-nmt ;;
    sentencepiece) ;;
    *) fail "PIECES_BY=$PIECES_BY; choose bpe or sentencepiece" ;;
  esac
  mkdir -p "$PIECES"
  case $JOINT in
    1) learn_codes "$PIECES/codes" "$CLEAN/train.$SOURCE" "$CLEAN/train.$TARGET" ;;
    *) for language in $LANGUAGES; do learn_codes "$PIECES/codes.$language" "$CLEAN/train.$language"; done ;;
  esac
  # shellcheck disable=SC2086
  for_each 2 split_language $LANGUAGES
  touch "$PIECES/complete"
  done_after
}

binarize_step() { # split test is the gold's text, test1 the test set of translation where there is one
  local tests=$PIECES/gold dictionary=() there
  announce "6 binarizing"
  if complete "$BINARY"; then already_there && return; fi
  complete "$PIECES" || fail "there are no pieces yet; run 5_pieces.sh first"
  needs fairseq-preprocess
  if [ -e "$PIECES/test.$SOURCE" ]; then tests+=,$PIECES/test; fi
  if [ "$JOINT" = 1 ]; then dictionary=(--joined-dictionary); fi
  if [ -n "$START" ]; then
    there=$(of_start "dict.$SOURCE.txt") || exit
    dictionary+=(--srcdict "$there")
    if [ "$JOINT" != 1 ]; then
      there=$(of_start "dict.$TARGET.txt") || exit
      dictionary+=(--tgtdict "$there")
    fi
  fi
  rm -rf "${BINARY:?}"
  logged "$WORK/6_binarize.log" fairseq-preprocess --source-lang "$SOURCE" --target-lang "$TARGET" ${dictionary[@]+"${dictionary[@]}"} \
    --trainpref "$PIECES/train" --validpref "$PIECES/valid" --testpref "$tests" --destdir "$BINARY" --workers "$JOBS"
  touch "$BINARY/complete"
  done_after
}
