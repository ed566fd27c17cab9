#!/usr/bin/env bash
# One file per split and language: train, the last 2,000 pairs of it as valid, gold (the 447 test pairs) and dev (the 37 trial pairs).
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
announce "2 gathering the text and the gold"
if complete "$RAW"; then already_there && exit; fi
[ -d "${CORPUS:-}" ] || fail "CORPUS names the folder with train, test, dev (.en, .fr), alignment.talp and dev.talp; see README.md"
# shellcheck disable=SC2086
step gather --to "$RAW" --languages $LANGUAGES --local "train=$CORPUS/train" --hold-out 2000 \
  --aligned "gold=$CORPUS/test:$CORPUS/alignment.talp" --aligned "dev=$CORPUS/dev:$CORPUS/dev.talp" ${LIMIT:+--limit "$LIMIT"}
touch "$RAW/complete"
done_after
