#!/usr/bin/env bash
# Leaves out empty, overlong, lopsided and repeated pairs, and every pair that shares a sentence with gold, dev or valid.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
clean_step
