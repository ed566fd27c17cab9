import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.symmetrize import (
    SOFT_SYMMETRIZATIONS,
    SYMMETRIZATIONS,
    agreement,
    symmetrize,
    symmetrize_soft,
)


def obvious(forward, backward, method):
    """What atools does, on two grids, cell by cell: source words are rows, target words columns."""
    rows = 1 + max([s for s, _ in forward | backward], default=0)
    columns = 1 + max([t for _, t in forward | backward], default=0)
    cells = [(s, t) for s in range(rows) for t in range(columns)]
    result = {cell: cell in forward and cell in backward for cell in cells}
    if method == "union":
        return [cell for cell in cells if cell in forward or cell in backward]
    reach = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    if "diag" in method:
        reach += [(1, 1), (-1, 1), (1, -1), (-1, -1)]

    def covered(s, t):
        return any(result[s, other] for other in range(columns)), any(result[other, t] for other in range(rows))

    if method.startswith("grow"):
        changed = True
        while changed:
            changed = False
            waiting = [cell for cell in cells if cell in forward | backward and not result[cell]]
            for s, t in waiting:
                if not all(covered(s, t)) and any(result.get((s + ds, t + dt)) for ds, dt in reach):
                    result[s, t] = changed = True
    for direction in (forward, backward):
        for s, t in cells:
            if (s, t) in direction and not result[s, t]:
                if method.endswith("final") and not all(covered(s, t)):
                    result[s, t] = True
                if method.endswith("final-and") and not any(covered(s, t)):
                    result[s, t] = True
    return [cell for cell in cells if result[cell]]


LINKS = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30)


@settings(max_examples=300)
@given(forward=LINKS, backward=LINKS, shared=LINKS, method=st.sampled_from(list(SYMMETRIZATIONS)))
def test_against_the_obvious_grid(forward, backward, shared, method):
    forward, backward = forward | shared, backward | shared
    assert symmetrize(forward, backward, method) == obvious(forward, backward, method)


@given(forward=LINKS, backward=LINKS)
def test_every_method_lies_between_intersection_and_union(forward, backward):
    for method in SYMMETRIZATIONS:
        links = set(symmetrize(forward, backward, method))
        assert forward & backward <= links <= forward | backward


def test_unknown_method_lists_the_choices():
    with pytest.raises(NormalignError, match="grow-diag-final-and"):
        symmetrize([], [], "refined")


def test_a_sure_direction_outvotes_an_unsure_one():
    forward = np.array([[0.4, 0.6], [0.5, 0.5]])  # unsure of both target words
    backward = np.array([[0.9, 0.1], [0.1, 0.9]])  # sure of both source words
    assert symmetrize_soft(agreement(forward, backward), "agreed-intersection") == [(0, 0), (1, 1)]
    assert symmetrize([(1, 0), (0, 1)], [(0, 0), (1, 1)], "intersection") == []  # link by link nothing is left


SHARES = st.lists(st.floats(0, 1, width=32), min_size=12, max_size=12).map(
    lambda values: np.array(values).reshape(3, 4)
)


@settings(max_examples=200)
@given(
    forward=SHARES,
    backward=SHARES.map(lambda shares: shares.reshape(4, 3)),
    method=st.sampled_from(SOFT_SYMMETRIZATIONS),
)
def test_soft_against_a_loop_over_words(forward, backward, method):
    agreed = agreement(forward, backward)
    cells = {(s, t): (forward[t, s] * backward[s, t]) ** 0.5 for s in range(4) for t in range(3)}
    assert all(agreed[t, s] == pytest.approx(value) for (s, t), value in cells.items())
    rows, columns = [], []
    for t in range(3):
        best = max(range(4), key=lambda s, t=t: (agreed[t, s], -s))
        rows += [(best, t)] * bool(agreed[t, best])
    for s in range(4):
        best = max(range(3), key=lambda t, s=s: (agreed[t, s], -t))
        columns += [(s, best)] * bool(agreed[best, s])
    assert symmetrize_soft(agreed, method) == symmetrize(rows, columns, method.removeprefix("agreed-"))


def test_soft_mistakes():
    with pytest.raises(ValueError, match="same sentence pair"):
        agreement(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(NormalignError, match="agreed-grow-diag"):
        symmetrize_soft(np.ones((1, 1)), "grow-diag")
