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
@given(forward=LINKS, backward=LINKS, shared=LINKS, method=st.sampled_from(list(SYMMETRIZATIONS)[:6]))
def test_against_the_obvious_grid(forward, backward, shared, method):
    forward, backward = forward | shared, backward | shared
    assert symmetrize(forward, backward, method) == obvious(forward, backward, method)


def beside(links, s, t, reach):
    return any((s + ds, t + dt) in links for ds, dt in reach)


@settings(max_examples=300)
@given(forward=LINKS, backward=LINKS, shared=LINKS, method=st.sampled_from(["och", "priority"]))
def test_och_and_priority_against_the_obvious_grid(forward, backward, shared, method):
    """A free pair of words joins; so does one with a linked neighbour in its row or (priority: either, or) column."""
    forward, backward = forward | shared, backward | shared
    found = set(forward if method == "priority" else forward & backward)
    before = None
    while before != found:
        before = set(found)
        for s in range(8):
            for t in range(8):
                free = all(s != a and t != b for a, b in found)
                row, column = beside(found, s, t, [(0, 1), (0, -1)]), beside(found, s, t, [(1, 0), (-1, 0)])
                joins = free or (row != column if method == "priority" else row or column)
                if (s, t) in forward | backward and joins:
                    found.add((s, t))
    assert set(symmetrize(forward, backward, method)) == found


def test_the_alignment_scripts_add_only_pairs_of_free_words():
    forward, backward = [(0, 0), (1, 1), (1, 2), (5, 5)], [(0, 0), (1, 1), (2, 1), (3, 3), (5, 6)]
    assert symmetrize(forward, backward, "grow-diag") == [(0, 0), (1, 1), (1, 2), (2, 1)]
    assert symmetrize(forward, backward, "grow-diag-free") == [(0, 0), (1, 1)]
    assert symmetrize(forward, backward, "grow-diag-free-final") == [(0, 0), (1, 1), (3, 3), (5, 5)]
    assert symmetrize([(0, 0), (1, 1), (2, 2)], [(0, 0)], "grow-diag-free") == [(0, 0), (1, 1), (2, 2)]


@given(forward=LINKS, backward=LINKS, shared=LINKS)
def test_with_both_words_free_each_word_has_the_links_of_the_intersection_or_one_more(forward, backward, shared):
    forward, backward = forward | shared, backward | shared
    agreed = forward & backward
    added = set(symmetrize(forward, backward, "grow-diag-free")) - agreed
    for side in (0, 1):
        words = [link[side] for link in added]
        assert len(words) == len(set(words))
        assert not set(words) & {link[side] for link in agreed}


@given(forward=LINKS, backward=LINKS)
def test_every_method_lies_between_intersection_and_union(forward, backward):
    for method in SYMMETRIZATIONS:
        links = set(symmetrize(forward, backward, method))
        assert forward & backward <= links <= forward | backward


def test_unknown_method_lists_the_choices():
    with pytest.raises(NormalignError, match="grow-diag-final-and"):
        symmetrize([], [], "refined")
