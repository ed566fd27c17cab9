#!/usr/bin/env bash
# Trains both directions. An interrupted training goes on from its last checkpoint.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
train_step
