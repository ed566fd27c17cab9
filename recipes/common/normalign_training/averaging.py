"""The mean of several checkpoints of one training: fairseq's script for it does not load them under today's torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import open_binary_output
from fairseq_normalign.hosts.fairseq.checkpoints import safe_load


def average(paths: Sequence[str | Path], output: str | Path) -> int:
    """Write the mean of the parameters of some checkpoints, with the arguments of the last; return how many they are.

    The result has no optimizer state. Numbers are added up in double precision and kept in the type of the last.
    """
    total: dict[str, Tensor] = {}
    state: dict[str, Any] = {}
    for path in paths:
        state = safe_load(path)
        parameters = _parameters(state, path)
        if path != paths[0] and parameters.keys() != total.keys():
            name = sorted(parameters.keys() ^ total.keys())[0]
            raise NormalignError(f"{path}: is of another model than {paths[0]}: only one of them has {name}")
        for name, tensor in parameters.items():
            if name in total and tensor.shape != total[name].shape:
                found, first = (tuple(one.shape) for one in (tensor, total[name]))
                raise NormalignError(f"{path}: {name} has the shape {found}, in {paths[0]} it has {first}")
            if name in total and tensor.is_floating_point() != total[name].is_floating_point():
                raise NormalignError(f"{path}: {name} is of the type {tensor.dtype}, unlike in {paths[0]}")
            total[name] = _added(total.get(name), tensor)
    last = _parameters(state, paths[-1])
    state["model"] = {name: _mean(total[name], last[name], len(paths)) for name in last}
    _check_finite(state["model"])
    state["last_optimizer_state"] = None
    with open_binary_output(output) as handle:
        torch.save(state, handle)
    return sum(tensor.numel() for tensor in last.values())


def _parameters(state: dict[str, Any], path: str | Path) -> dict[str, Tensor]:
    found = state.get("model")
    if not isinstance(found, dict) or not found or not all(isinstance(one, Tensor) for one in found.values()):
        raise NormalignError(f"{path}: not a fairseq checkpoint (it has no parameters)")
    return found


def _check_finite(parameters: dict[str, Tensor]) -> None:
    for name, tensor in parameters.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise NormalignError(f"the mean of {name} has NaN or infinity; are the checkpoints sound?")


def _added(total: Tensor | None, tensor: Tensor) -> Tensor:
    """Whole numbers and the like (versions, positions) are not added up: the last one stays."""
    if not tensor.is_floating_point():
        return tensor
    return tensor.double() if total is None else total + tensor


def _mean(total: Tensor, last: Tensor, count: int) -> Tensor:
    return (total / count).to(last.dtype) if last.is_floating_point() else last
