#!/usr/bin/env bash
# Writes fairseq's binary data.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
binarize_step
