"""In which numbers a model computes, and by which matrix products a forced pass on the CPU does so.

torch leaves products in float32 to MKL, which runs at less than half of some processors' speed and packs the weights
anew in every call. oneDNN, which is part of torch as well, takes weights that are packed once, in float32 or bfloat16;
int8 has kernels of its own. Only forced passes use packed weights: generation and gradients use the modules themselves.

Some processors announce instructions (AMX) that the virtual machine around them does not grant. A process that computes
in bfloat16 there is killed by the first of them, without a message. So a child process computes a small Transformer
first. Where that child is killed, oneDNN is limited to older instructions.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ..errors import NormalignError

PRECISIONS = ("auto", "float32", "bfloat16", "int8", "float16")
"""What a user can ask for. 'auto' is float32 by the fastest products; 'float32' is computed by torch's own."""
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8, "float16": torch.float16}
LIMIT = "ONEDNN_MAX_CPU_ISA"
"""oneDNN's environment variable for the newest instructions that it may use; read once, at its first computation."""
SAFE_INSTRUCTIONS = "AVX512_CORE_FP16"
"""The newest set of instructions without AMX."""
PROBE = """
import sys
sys.path = [folder for folder in sys.path if folder]  # nothing from where the user happens to be
import torch
torch.manual_seed(1)
kind = torch.float32 if sys.argv[1] == "int8" else getattr(torch, sys.argv[1])
model = torch.nn.Transformer(64, 4, 1, 1, 128, batch_first=True).eval().to(kind)
text = torch.randn(4, 33, 64).to(kind)
with torch.no_grad():
    model(text, text), torch.bmm(text, text.transpose(1, 2))
    if sys.argv[1] == "int8":
        weight = torch.quantize_per_channel(text[0], torch.ones(33), torch.zeros(33).long(), 0, torch.qint8)
        torch.ops.quantized.linear_dynamic(text, torch.ops.quantized.linear_prepack(weight, None))
"""
SIZE, TURNS = 512, 5
"""Rows and columns of the product that is measured, and how often; the shortest time counts."""
MUCH_SLOWER = 1.5
"""Packed products are left only where they take this many times as long. Small differences must not decide, nor the
sizes of small layers, whose times vary: two processes of one job would compute differently."""

PACKED, PRODUCT = torch.ops.mkldnn, "_linear_pointwise"
"""oneDNN's operators in torch. They are not public: without them, layers compute as they are."""

Product = Callable[[Tensor], Tensor]
"""What a linear layer does: [..., in] -> [..., out]."""


class Products:
    """The linear layers of a model, packed for forced passes in one precision."""

    def __init__(self, layers: Iterable[nn.Module], precision: str) -> None:
        self.layers = [layer for layer in dict.fromkeys(layers) if type(layer) is nn.Linear]
        self.precision = precision
        self._packed: dict[nn.Linear, tuple[tuple[int, int], Product]] = {}

    def __getstate__(self) -> dict[str, object]:
        """Packed weights cannot be pickled; they are packed again."""
        return {**self.__dict__, "_packed": {}}

    @contextmanager
    def used(self) -> Iterator[None]:
        """While this lasts, the layers compute by packed weights; a layer that somebody has wrapped runs as it is."""
        replaced = [layer for layer in self.layers if "forward" not in layer.__dict__]
        try:
            for layer in replaced:
                layer.__dict__["forward"] = self._product(layer)
            yield
        finally:
            for layer in replaced:
                layer.__dict__.pop("forward", None)

    def _product(self, layer: nn.Linear) -> Product:
        version = layer.weight.data_ptr(), layer.weight._version
        known = self._packed.get(layer)
        if known is None or known[0] != version:
            known = self._packed[layer] = version, self._pack(layer)
        return known[1]

    def _pack(self, layer: nn.Linear) -> Product:
        if self.precision == "int8":
            return in_int8(layer)
        if self.precision == "bfloat16":
            return in_bfloat16(layer)
        return in_float32(layer) if packing_helps() else layer.forward


def in_float32(layer: nn.Linear) -> Product:
    """Return the product of a layer with its weights packed for oneDNN."""
    weight, bias = PACKED._reorder_linear_weight(layer.weight.detach()), _bias(layer)
    return lambda inputs: PACKED._linear_pointwise(inputs, weight, bias, "none", [], "")


def in_bfloat16(layer: nn.Linear) -> Product:
    """Return the product of a layer in bfloat16, of inputs and to outputs in float32."""
    weight, bias = layer.weight.detach().bfloat16(), _bias(layer)
    bias = None if bias is None else bias.bfloat16()
    if not has_onednn():
        return lambda inputs: linear(inputs.bfloat16(), weight, bias).float()
    packed = PACKED._reorder_linear_weight(weight)
    return lambda inputs: PACKED._linear_pointwise(inputs.bfloat16(), packed, bias, "none", [], "").float()


def in_int8(layer: nn.Linear) -> Product:
    """Return the product of a layer with weights in int8, a scale per output; inputs get their scale as they come."""
    matrix = layer.weight.detach()
    scales = matrix.abs().amax(1).clamp_min(1e-12) / 127
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces another interface
        weight = torch.quantize_per_channel(matrix, scales, torch.zeros_like(scales).long(), 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, _bias(layer))
    return lambda inputs: torch.ops.quantized.linear_dynamic(inputs.contiguous(), packed)


def _bias(layer: nn.Linear) -> Tensor | None:
    return None if layer.bias is None else layer.bias.detach()


@functools.cache
def packing_helps() -> bool:
    """Measure, once per process, whether a product with packed weights is not slower than torch's own."""
    if not has_onednn():
        return False
    layer, inputs = nn.Linear(SIZE, SIZE).requires_grad_(False), torch.rand(SIZE, SIZE)
    return _seconds(in_float32(layer), inputs) <= MUCH_SLOWER * _seconds(layer.forward, inputs)


def has_onednn() -> bool:
    """Whether this torch can multiply by weights that are packed for oneDNN."""
    mkldnn = torch.backends.mkldnn
    return bool(mkldnn.is_available() and mkldnn.enabled and hasattr(PACKED, PRODUCT))


def _seconds(product: Product, inputs: Tensor) -> float:
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    found = []
    for _ in range(TURNS):
        before = clock()
        product(inputs)
        found.append(clock() - before)
    return min(found)


# -- processors that die -----------------------------------------------------------------------------------------------


def prepare_cpu(precision: str, *, started: bool = True) -> None:
    """Make sure, once per process, that the CPU can compute in ``precision``, which is not float32.

    Where it cannot, oneDNN is limited and a note says so on stderr; where that does not help, NormalignError.
    ``started``: torch may have computed in this process. oneDNN then no longer reads its variable and is turned off.
    """
    if precision in _prepared or precision in ("auto", "float32"):
        return
    died = _probe(precision, {})
    if died is not None:
        _limit_onednn(precision, died, started)
    _prepared.add(precision)


_prepared: set[str] = set()


def _limit_onednn(precision: str, died: str, started: bool) -> None:
    limited = {LIMIT: SAFE_INSTRUCTIONS}
    if os.environ.get(LIMIT) or _probe(precision, limited) is not None:
        raise NormalignError(f"this machine cannot compute in {precision} ({died}); use float32 instead")
    os.environ.update(limited)
    if started:
        torch.backends.mkldnn.set_flags(False)
    if os.environ.get("RANK", "0") == "0":  # several processes of a training: rank 0 reports
        print(
            f"normalign: note: {precision} with this CPU's newest instructions fails ({died}); "
            f"computing with {LIMIT}={SAFE_INSTRUCTIONS}",
            file=sys.stderr,
        )


def _probe(precision: str, environment: dict[str, str]) -> str | None:
    """Compute in a child process; return None, or in a few words how the child ended."""
    command = [sys.executable, "-c", PROBE, precision]
    child = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, check=False, text=True)
    if child.returncode < 0:
        return signal.strsignal(-child.returncode) or f"signal {-child.returncode}"
    return (child.stderr.strip().splitlines() or ["no message"])[-1][:160] if child.returncode else None
