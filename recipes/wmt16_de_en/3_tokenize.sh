#!/usr/bin/env bash
# Moses tokens without escapes, as the gold has them, and says how well they agree.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
tokenize_step
