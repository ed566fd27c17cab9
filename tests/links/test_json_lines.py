from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.formats import AlignedPair, from_json, in_step, open_alignment, to_json

PAIR = AlignedPair(
    "das Haus", "the house", [(0, 3), (4, 8)], [(0, 3), (4, 9)], [(0, 0, True), (1, 1, False)], {(0, 0): 0.5}
)


def test_there_and_back():
    assert from_json(to_json(PAIR), "x:1") == PAIR


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=6), st.text(), st.text())
def test_any_links_and_texts_there_and_back(links, source, target):
    unique = {link[:2]: link for link in sorted(links)}
    spans = [[(n, n + 1) for n in range(min(4, len(text)))] for text in (source, target)]
    kept = [link for link in sorted(unique.values()) if link[0] < len(spans[0]) and link[1] < len(spans[1])]
    pair = AlignedPair(source, target, spans[0], spans[1], kept)
    assert from_json(to_json(pair), "x:1") == pair
    assert "\n" not in to_json(pair)


def test_read_as_any_alignment_file(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f"{to_json(PAIR)}\n" * 3, encoding="utf-8")
    with open_alignment(path) as file:
        (blocks,) = in_step([file])
        assert file.signature == "jsonl,base:0,source-target"
    assert list(blocks[0].sentences()) == [[(0, 0, True), (1, 1, False)]] * 3


def changed(**values):
    return json.dumps({**json.loads(to_json(PAIR)), **values})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "a:7: '{' is not a line of JSON"),
        ("[]", "'normalign' is None; version 1"),
        (changed(normalign=2), "'normalign' is 2; version 1"),
        (changed(source=None), "'source' and 'target' have to be texts"),
        (changed(source_words=3), "'source_words' has to be a list"),
        (changed(source_words=[[0, 3], [2, 8]]), "is no range of characters"),
        (changed(target_words=[[0, 30]]), "is no range of characters"),
        (changed(links=[{"source": 0}]), "is not a link with 'source' and 'target'"),
        (changed(links=[{"source": 0, "target": 2}]), "link 0-2 is out of range: 2 and 2 words"),
        (changed(links=[{"source": True, "target": 1}]), "is not a link"),
        (changed(links=[{"source": 0, "target": 0, "confidence": 2}]), "'confidence' is from 0 to 1"),
        (changed(links=[{"source": 0, "target": 0, "sure": 1}]), "'sure' true or false"),
        ("[" * 100_000, "is not a line of JSON"),
    ],
)
def test_what_is_not_such_a_line_is_refused(line, message):
    with pytest.raises(NormalignError, match=message):
        from_json(line, "a:7")
