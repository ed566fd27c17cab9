import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.symmetrize import SYMMETRIZATIONS, symmetrize


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
