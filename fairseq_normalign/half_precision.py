"""Half precision on the CPU: tried in a child process before it is used.

Some CPUs announce instructions (AMX) that the virtual machine around them does not grant. A process that computes in
bfloat16 there is killed by the first of them, without a message. So a child process computes a small Transformer
first. Where that child is killed, oneDNN, which does the computing, is limited to older instructions.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from .errors import NormalignError

PRECISIONS = {"fp16": "float16", "bf16": "bfloat16"}
"""What a user says -> torch's name of the type."""
LIMIT = "ONEDNN_MAX_CPU_ISA"
"""oneDNN's environment variable for the newest instructions that it may use; read once, at its first computation."""
SAFE_INSTRUCTIONS = "AVX512_CORE_FP16"
"""The newest set of instructions without AMX."""
PROBE = """
import sys
sys.path = [folder for folder in sys.path if folder]  # nothing from where the user happens to be
import torch
torch.manual_seed(1)
model = torch.nn.Transformer(64, 4, 1, 1, 128, batch_first=True).eval().to(getattr(torch, sys.argv[1]))
text = torch.randn(4, 33, 64).to(getattr(torch, sys.argv[1]))
with torch.no_grad():
    model(text, text), torch.bmm(text, text.transpose(1, 2))
"""


def prepare_cpu(precision: str, *, started: bool = True) -> None:
    """Make sure, once per process, that the CPU can compute in ``precision`` ('fp16' or 'bf16').

    Where it cannot, oneDNN is limited and a note says so on stderr; where that does not help, NormalignError.
    ``started``: torch may have computed in this process. oneDNN then no longer reads its variable and is turned off.
    """
    if precision in _prepared:
        return
    died = _probe(precision, {})
    if died is not None:
        _limit_onednn(precision, died, started)
    _prepared.add(precision)


_prepared: set[str] = set()


def _limit_onednn(precision: str, died: str, started: bool) -> None:
    limited = {LIMIT: SAFE_INSTRUCTIONS}
    if os.environ.get(LIMIT) or _probe(precision, limited) is not None:
        raise NormalignError(f"this machine cannot compute in {PRECISIONS[precision]} ({died}); use float32 instead")
    os.environ.update(limited)
    if started:
        import torch

        torch.backends.mkldnn.set_flags(False)
    if os.environ.get("RANK", "0") == "0":  # several processes of a training: rank 0 reports
        print(
            f"normalign: note: {PRECISIONS[precision]} with this CPU's newest instructions fails ({died}); "
            f"computing with {LIMIT}={SAFE_INSTRUCTIONS}",
            file=sys.stderr,
        )


def _probe(precision: str, environment: dict[str, str]) -> str | None:
    """Compute in a child process; return None, or in a few words how the child ended."""
    command = [sys.executable, "-c", PROBE, PRECISIONS[precision]]
    child = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, check=False, text=True)
    if child.returncode < 0:
        return signal.strsignal(-child.returncode) or f"signal {-child.returncode}"
    return (child.stderr.strip().splitlines() or ["no message"])[-1][:160] if child.returncode else None
