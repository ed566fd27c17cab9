"""Steps of a job handed out to processes as they ask for them; the first process gets the results in their order.

A step that does not come back (its process is slow, or its machine is gone) is done by the first process itself, once
it has nothing else to do. So no process holds the others, and the job ends as long as the first process lives.
"""

from __future__ import annotations

import io
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import torch

from ..errors import NormalignError
from .processes import POLL, Processes

AHEAD = 8
"""Steps per process that may be drawn before the oldest of them is written."""
PATIENCE = 2.0
"""For so many times the longest step of its own, the first process waits for a step of another one."""
LARGEST = 4 << 20
"""Bytes in one value of the store, which takes at most 8 MiB."""


class Step(Protocol):
    """A piece of work with its number."""

    @property
    def number(self) -> int:
        """The number of the step, from 0, in the order in which results are needed."""


S = TypeVar("S", bound=Step)
Result = TypeVar("Result")


class Board(Generic[Result]):
    """What the processes know of each other's steps: how many are drawn and written, and results."""

    def __init__(
        self,
        group: Processes,
        first: int,
        ahead: int,
        *,
        pack: Callable[[Result], object] = lambda result: result,
        unpack: Callable[[Any], Result] = lambda packed: packed,
    ) -> None:
        """``first``: the step to begin with; ``ahead``: how many may be drawn before the oldest of them is written.

        ``pack`` makes a result into plain data (numbers, texts, lists, dictionaries, tensors), ``unpack`` takes it
        back: what comes over the network must not be able to run anything.
        """
        self.group = group
        self._pack = pack
        self._unpack = unpack
        self.first = first
        self.ahead = ahead
        self._store = group.board

    def draw(self) -> int:
        """Take the next step; return its number."""
        self.group.check_current()
        return self.first + int(self._store.add("drawn", 1)) - 1

    def may_start(self, number: int) -> bool:
        """Whether a step is near enough to the oldest one that is not written."""
        return number < self.written() + self.ahead

    def written(self) -> int:
        """The number of the oldest step that is not written."""
        return self.first + int(self._store.add("written", 0))

    def wrote(self) -> None:
        """Count one more step as written."""
        self._store.add("written", 1)

    def post(self, number: int, result: Result) -> None:
        """Hand in the result of a step, unless it is too late."""
        if number < self.written():
            return
        packed = io.BytesIO()
        torch.save(self._pack(result), packed)
        content = packed.getvalue()
        parts = [content[start : start + LARGEST] for start in range(0, len(content), LARGEST)]
        for place, part in enumerate(parts):
            self._store.set(f"{number} {place}", part)  # type: ignore[arg-type]
        self._store.set(str(number), str(len(parts)))

    def take(self, number: int) -> Result | None:
        """Take the result of a step off the board; None when it is not there."""
        if not self._store.check([str(number)]):
            return None
        keys = [f"{number} {place}" for place in range(int(self._store.get(str(number))))]
        content = b"".join(self._store.get(key) for key in keys)
        for key in (str(number), *keys):
            self._store.delete_key(key)
        return self._unpack(torch.load(io.BytesIO(content), weights_only=True))


def help_out(
    steps: Iterator[S], work: Callable[[S], Result], failed: Callable[[str], Result], board: Board[Result]
) -> None:
    """Do steps for the first process until there are no more.

    ``failed`` makes a result of an error in reading ``steps``; the first process handles it when it gets there.
    """
    while True:
        number = board.draw()
        board.group.wait_until(lambda number=number: board.may_start(number))  # type: ignore[misc]
        try:
            step = next((step for step in steps if step.number == number), None)
        except NormalignError as error:
            board.post(number, failed(str(error)))
            return
        if step is None:
            return
        board.post(number, work(step))


class InOrder(Generic[S, Result]):
    """The first process: does steps like the others, and yields every step with its result, in order.

    A step counts as written when the next one is asked for.
    """

    def __init__(self, steps: Iterator[S], work: Callable[[S], Result], board: Board[Result]) -> None:
        self._steps = steps
        self._work = work
        self._board = board
        self._unwritten: deque[S] = deque()
        self._made: dict[int, Result] = {}
        self._longest = 0.5
        self._error: NormalignError | None = None

    def __iter__(self) -> Iterator[tuple[S, Result]]:
        """Each step and its result."""
        while (step := self._read(self._board.draw())) is not None:
            while not self._board.may_start(step.number):
                yield from self._oldest(self._awaited())
            self._made[step.number] = self._timed(step)
            while self._unwritten and (found := self._found()) is not None:
                yield from self._oldest(found)
        while self._unwritten:
            yield from self._oldest(self._awaited())
        if self._error is not None:
            raise self._error

    def _read(self, number: int) -> S | None:
        """Read up to a step; None when there are not so many. An error in reading waits until the rest is written."""
        try:
            for step in self._steps:
                self._unwritten.append(step)
                if step.number == number:
                    return step
        except NormalignError as error:
            self._error = error
        return None

    def _oldest(self, result: Result) -> Iterator[tuple[S, Result]]:
        yield self._unwritten[0], result
        self._unwritten.popleft()
        self._board.wrote()

    def _found(self) -> Result | None:
        """The result of the oldest step, if it is there."""
        number = self._unwritten[0].number
        return self._made.pop(number) if number in self._made else self._board.take(number)

    def _awaited(self) -> Result:
        """The result of the oldest step: another process's, or in the end our own."""
        end = time.monotonic() + PATIENCE * self._longest
        while (found := self._found()) is None:
            if time.monotonic() > end:
                found = self._timed(self._unwritten[0])
                self._board.take(self._unwritten[0].number)  # it may have come in the meantime
                break
            time.sleep(POLL)
        return found

    def _timed(self, step: S) -> Result:
        started = time.monotonic()
        result = self._work(step)
        self._longest = max(self._longest, time.monotonic() - started)
        return result
