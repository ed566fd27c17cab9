#!/usr/bin/env bash
# Makes the toy that `normalign try` runs: the models of the demo, in half precision, with their text.
# The demo's own steps do the training; what is there already is not made again.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
demo=$here/../demo
for step in 1_corpus 2_prepare 3_train; do
  bash "$demo/$step.sh" || exit
done
# shellcheck source=../demo/settings.sh
. "$demo/settings.sh"
announce "making the toy of the models"
python "$here/make_toy.py" --work "$WORK" --out "${TOY:-$here/../../fairseq_normalign/toy}"
done_after
