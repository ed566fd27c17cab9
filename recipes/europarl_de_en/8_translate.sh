#!/usr/bin/env bash
# Translates the test set with fairseq-generate, which prints alignments too, and scores it with sacreBLEU.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
translate_step
