"""Which model is loaded, and where and how it computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from ..errors import NormalignError
from .precision import TYPES, prepare_cpu


@dataclass(frozen=True)
class ModelOptions:
    """Which checkpoint, with which dictionaries, computing where and in which precision."""

    path: str
    """A checkpoint; ``a.pt:b.pt`` is an ensemble."""
    data: str | None = None
    """The directory of the dictionaries; None: that of the checkpoint."""
    source_lang: str | None = None
    target_lang: str | None = None
    device: str = "cpu"
    precision: str = "auto"
    """One of :data:`..precision.PRECISIONS`."""
    task_options: Mapping[str, str] = field(default_factory=dict)
    """Replace what a checkpoint of fairseq says of its task, under fairseq's names: ``fixed_dictionary`` and
    ``lang_dict`` (files), ``lang_pairs``."""

    @property
    def dtype(self) -> torch.dtype:
        """The type the parameters are converted to; on a CPU, products alone are in bfloat16 or int8."""
        narrow = ("float16",) if torch.device(self.device).type == "cpu" else ("float16", "bfloat16")
        return TYPES[self.precision] if self.precision in narrow else torch.float32

    def check_device(self) -> None:
        """Refuse a device that torch does not know or cannot use, before a model is loaded."""
        try:
            torch.zeros(1, device=self.device).tolist()
        except (RuntimeError, AssertionError, NotImplementedError, ValueError, TypeError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
            raise NormalignError(
                f"the device '{self.device}' cannot be used ({reason}); try cpu, cuda or cuda:0"
            ) from None

    def prepare(self) -> None:
        """Try the precision once, before a model is made, on a CPU."""
        self.check_device()
        if torch.device(self.device).type == "cpu":
            prepare_cpu(self.precision)
        elif self.precision == "int8":
            raise NormalignError(f"int8 is computed on the CPU alone, not on {self.device}")

    def place(self, module: nn.Module) -> None:
        """Move a model to the device, in the precision asked for."""
        self.prepare()
        module.to(device=self.device, dtype=self.dtype)

    def reversed(self, path: str | None = None, data: str | None = None) -> ModelOptions:
        """Return the options of the other direction's model; without a path, of the same model the other way round."""
        same = path is None
        return replace(
            self,
            path=self.path if path is None else path,
            data=self.data if same else data,
            source_lang=self.target_lang,
            target_lang=self.source_lang,
        )


def prepare_modules(modules: Iterable[nn.Module]) -> None:
    """Try half precision, once, where one of these models computes in it on a CPU."""
    names = {dtype: name for name, dtype in TYPES.items()}
    for module in modules:
        parameter = next(module.parameters(), None)
        if parameter is not None and parameter.device.type == "cpu" and parameter.dtype in names:
            prepare_cpu(names[parameter.dtype])
