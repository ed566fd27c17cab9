#!/usr/bin/env bash
# Learns the pieces of words from the training text and splits everything into them.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
pieces_step
