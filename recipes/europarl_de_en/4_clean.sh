#!/usr/bin/env bash
# Leaves out empty, overlong, lopsided and repeated pairs, and every sentence of the test sets.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
clean_step
