"""The parameters of an attention module's transformation f, as numpy arrays."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from ..analysis.attention_batch import Projections


def projections_of(heads: int, value: nn.Linear, out: nn.Linear) -> Projections:
    """Return the parameters of f from the modules that project values and outputs, both like ``torch.nn.Linear``."""
    return Projections(
        heads=heads,
        value_weight=_array(value.weight),
        value_bias=None if value.bias is None else _array(value.bias),
        out_weight=_array(out.weight),
    )


def _array(parameter: Tensor) -> np.ndarray:
    return parameter.detach().cpu().double().numpy()
