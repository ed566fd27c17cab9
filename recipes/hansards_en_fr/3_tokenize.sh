#!/usr/bin/env bash
# Lower-cases the text, whose words stay as they are given.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
tokenize_step
