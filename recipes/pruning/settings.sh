# What every step of the sweep shares, beside the settings of the demo, whose model and data it uses; sourced, never run.
# shellcheck shell=bash disable=SC2034
PRUNING=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../demo/settings.sh
. "$PRUNING/../demo/settings.sh"
SWEEP=${SWEEP:-$PRUNING/work}

LAMBDAS=${LAMBDAS:-0 0.01 0.03 0.1} # what an open head costs; 0: fine-tuned as long, with all heads
GATES=${GATES:-encoder,decoder,cross}
GATE_UPDATES=${GATE_UPDATES:-400} GATE_RATE=${GATE_RATE:-1e-3} GATE_SPEED=${GATE_SPEED:-30}

[ -e "$MODELS/de-en/complete" ] || fail "there is no model yet; run recipes/demo/run.sh first"
mkdir -p "$SWEEP"
