#!/usr/bin/env bash
# Trains every direction and seed. An interrupted training goes on from its last checkpoint.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
train_step
