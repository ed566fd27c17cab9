"""One job in several processes, started by torchrun; or in one, without anything to start."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed

PATIENCE = datetime.timedelta(hours=12)
"""How long a process waits for the slowest one."""


@dataclass(frozen=True)
class Processes:
    """This process among all of the job."""

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def gather(self, found: Any) -> list[Any]:
        """What every process found, in their order, for the first; nothing for the others."""
        if self.count == 1:
            return [found]
        together: list[Any] | None = [None] * self.count if self.is_first else None
        distributed.gather_object(found, together)
        return together or []

    def share(self, decided: Any) -> Any:
        """What the first process decided."""
        if self.count == 1:
            return decided
        box = [decided]
        distributed.broadcast_object_list(box)
        return box[0]


@contextlib.contextmanager
def processes() -> Iterator[Processes]:
    """The processes that torchrun started, or this one alone.

    What they exchange are results in text, by gloo; each computes on its own device.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or "MASTER_ADDR" not in os.environ:
        yield Processes()
        return
    distributed.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()


def own_device(*, cpu: bool = False) -> str:
    """The device of this process: its GPU if there is one, unless ``cpu``."""
    if cpu or not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % torch.cuda.device_count()}"
