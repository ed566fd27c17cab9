#!/usr/bin/env bash
# Unpacks train, valid and test text and the gold alignments into one file a split and language.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
gather_step "${PARTS[@]}"
