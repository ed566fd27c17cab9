"""A model put into the state in which it is read, and back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import nn


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """While this lasts, the model is in evaluation mode and no gradients are kept; then every module is as it was.

    torch's inference mode, if the caller is in it, is left meanwhile: methods that need gradients turn them on again,
    which is not possible within.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode(False), torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
