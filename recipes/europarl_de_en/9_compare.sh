#!/usr/bin/env bash
# AER of weights and norms at every layer, of two looks and of both directions, with figures and a page.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
compare_step
