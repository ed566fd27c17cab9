"""Steps drawn by several processes (threads here, with a store of their own): all results, once, in order."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import pytest
from torch import distributed

from fairseq_normalign.align import handing_out
from fairseq_normalign.align.handing_out import Board, InOrder, help_out
from fairseq_normalign.align.processes import Processes, Superseded
from fairseq_normalign.errors import NormalignError


@dataclass(frozen=True)
class Numbered:
    number: int


def steps(first: int, count: int, bad: int | None = None):
    for number in range(first, count):
        if number == bad:
            raise NormalignError(f"line {number} is bad")
        yield Numbered(number)


class Worker(threading.Thread):
    """Another process; ``work`` may refuse to return."""

    def __init__(self, store, rank: int, work, *, count: int = 3, ahead: int = 6, first: int = 0, many: int = 20):
        super().__init__(daemon=True)
        self.store, self.rank, self.count = store, rank, count
        self.work, self.ahead, self.first, self.many = work, ahead, first, many
        self.start()

    def run(self) -> None:
        group = Processes(self.rank, self.count, self.store)
        board = Board(group, self.first, self.ahead)
        help_out(steps(self.first, self.many), self.work, lambda error: error, board)


@pytest.fixture
def store():
    return distributed.HashStore()


def in_order(store, work, *, count: int = 3, ahead: int = 6, first: int = 0, many: int = 20, bad: int | None = None):
    group = Processes(0, count, store)
    return InOrder(steps(first, many, bad), work, Board(group, first, ahead))


def squares(step: Numbered) -> int:
    return step.number**2


def test_everything_comes_once_and_in_order(store):
    by: dict[int, list[int]] = {0: [], 1: [], 2: []}

    def work(rank: int):
        def do(step: Numbered) -> int:
            by[rank].append(step.number)
            time.sleep(0.002)
            return step.number**2

        return do

    found = in_order(store, work(0), first=3)
    others = [Worker(store, rank, work(rank), first=3) for rank in (1, 2)]
    assert [(step.number, result) for step, result in found] == [(number, number**2) for number in range(3, 20)]
    for other in others:
        other.join(10)
        assert not other.is_alive()
    assert sorted(by[0] + by[1] + by[2]) == list(range(3, 20))
    assert store.num_keys() < 10, "results stay on the board"


def test_a_process_that_never_comes_back_holds_nobody(store, monkeypatch):
    monkeypatch.setattr(handing_out, "PATIENCE", 0.1)
    taken, never = threading.Event(), threading.Event()

    def hang(step: Numbered) -> int:
        taken.set()
        never.wait(60)
        return -1

    found = iter(in_order(store, squares, ahead=4))
    Worker(store, 1, hang)
    assert taken.wait(10)
    assert [result for _, result in found] == [number**2 for number in range(20)]
    never.set()


def test_no_more_than_so_many_wait_to_be_written(store):
    """The first process is busy; the others stop and wait for it."""
    started: list[int] = []

    def work(step: Numbered) -> int:
        started.append(step.number)
        return step.number**2

    found = iter(in_order(store, squares, ahead=5, many=100))
    others = [Worker(store, rank, work, ahead=5, many=100) for rank in (1, 2)]
    written = 0
    for _, result in found:
        assert result == written**2
        assert max(started, default=0) < written + 5
        written += 1
        time.sleep(0.001)
    assert written == 100
    for other in others:
        other.join(10)


def test_a_large_result_is_sent_in_parts(store, monkeypatch):
    monkeypatch.setattr(handing_out, "LARGEST", 100)
    board = Board(Processes(0, 2, store), 0, 4)
    board.post(2, "x" * 1234)
    assert board.take(1) is None
    assert board.take(2) == "x" * 1234
    assert board.take(2) is None


def test_an_error_in_reading_comes_after_what_could_be_done(store):
    found = iter(in_order(store, squares, bad=5))
    done = [next(found)[1] for _ in range(5)]
    assert done == [0, 1, 4, 9, 16]
    with pytest.raises(NormalignError, match="line 5 is bad"):
        next(found)


def test_an_error_that_only_another_process_meets_is_reported_in_its_turn(store):
    group = Processes(0, 2, store)
    board = Board(group, 0, 9)
    helper = Board(Processes(1, 2, store), 0, 9)
    help_out(steps(0, 9, bad=0), squares, lambda error: error, helper)
    assert [result for _, result in InOrder(steps(0, 3), squares, board)] == ["line 0 is bad", 1, 4]


def test_who_was_left_behind_joins_the_new_attempt(store):
    first, other = Processes(0, 2, store), Processes(1, 2, store)
    assert (first.attempt, other.attempt, first.restarted) == (1, 1, False)
    first.share([1, "a"])
    assert other.share(None) == [1, "a"]
    again = Processes(0, 2, store)
    assert again.restarted
    with pytest.raises(Superseded):
        Board(other, 0, 4).draw()
    with pytest.raises(Superseded):
        other.share(None)
    again.share("new")
    assert Processes(1, 2, store).share(None) == "new"


def test_a_job_that_is_done_is_not_done_again(store):
    assert not Processes(0, 2, store).finished
    Processes(1, 2, store).finish()
    assert not Processes(1, 2, store).finished
    Processes(0, 2, store).finish()
    assert Processes(1, 2, store).finished
    assert not Processes().finished
