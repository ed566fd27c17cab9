#!/usr/bin/env bash
# Weights, norms and two looks of every layer, both directions, with figures and a page of the gold's sentences.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
compare_step
