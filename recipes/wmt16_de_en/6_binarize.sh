#!/usr/bin/env bash
# fairseq's binary form.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
binarize_step
