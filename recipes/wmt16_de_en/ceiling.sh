#!/usr/bin/env bash
# What is left to find in the attention of the models: two looks beside a classifier that is taught by half of the gold.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
ceiling_step
