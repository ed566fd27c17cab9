"""Labels carried to the other language."""

from __future__ import annotations

import io
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.projection.labels import (
    Label,
    from_bio,
    project_labels,
    read_conll,
    read_json_labels,
    to_bio,
    write_conll,
    write_json_labels,
)
from fairseq_normalign.projection.pairs import Side
from fairseq_normalign.projection.spans import LinkedPair, confidence_of, project_span
from fairseq_normalign.text.words import space_words, word_finder

from .marking import random_links


def links_of(text):
    return [tuple(map(int, link.split("-"))) for link in text.split()]


@pytest.mark.parametrize(
    ("links", "span", "close", "split", "main"),
    [
        ("0-0 1-1", (0, 2), [(0, 2)], [(0, 2)], [(0, 2)]),
        ("0-0 1-2", (0, 2), [(0, 3)], [(0, 3)], [(0, 3)]),  # word 1 is linked to nothing
        ("0-0 1-2 2-1", (0, 2), [(0, 3)], [(0, 1), (2, 3)], [(0, 1)]),
        ("0-0 1-2 1-3 2-1", (0, 2), [(0, 4)], [(0, 1), (2, 4)], [(2, 4)]),
        ("2-1", (0, 2), [(0, 1)], [(0, 1)], [(0, 1)]),  # guessed: what is free before its neighbour
        ("0-0 1-1 2-2 3-3", (0, 4), [(0, 5)], [(0, 5)], [(0, 5)]),  # all words take all words
    ],
)
def test_gaps(links, span, close, split, main):
    pair = LinkedPair(4, 5, links_of(links))
    found = [list(project_span(pair, span, gaps=gaps).ranges) for gaps in ("close", "split", "main")]
    assert found == [close, split, main]


def test_every_linked_word_is_in_a_closed_or_split_span():
    for seed in range(500):
        rng = random.Random(seed)
        sources, targets = rng.randint(1, 9), rng.randint(1, 9)
        links = random_links(rng, sources, targets)
        pair = LinkedPair(sources, targets, links)
        start = rng.randrange(sources)
        span = (start, rng.randint(start + 1, sources))
        own = {t for s, t in links if span[0] <= s < span[1]}
        for gaps in ("close", "split"):
            found = project_span(pair, span, gaps=gaps)
            inside = {t for first, last in found.ranges for t in range(first, last)}
            assert own <= inside
            assert found.left_out == 0
        everything = span == (0, sources)
        split = project_span(pair, span, gaps="split")
        if not everything:
            foreign = {t for first, last in split.ranges for t in range(first, last)} - own
            assert not any(pair.sources[t] for t in foreign)


def test_labels_without_links_are_lost_or_guessed():
    pair = LinkedPair(3, 3, [(0, 0), (2, 2)])
    assert project_labels(pair, [Label((1, 2), "X")])[0] == []
    assert [note.what for note in project_labels(pair, [Label((1, 2), "X")])[1]] == ["lost"]
    found, notes = project_labels(pair, [Label((1, 2), "X")], guess=True)
    assert [(label.words, label.confidence) for label in found] == [((1, 2), 0.0)]
    assert [note.what for note in notes] == ["guessed"]


def test_confidence_is_the_mean_of_the_best_links():
    pair = LinkedPair(3, 3, [(0, 0), (1, 1)], {(0, 0): 0.5, (1, 1): 0.9})
    assert confidence_of(pair, (0, 2), project_span(pair, (0, 2)).ranges) == pytest.approx((0.5 + 0.9) / 2)
    assert confidence_of(pair, (1, 3), project_span(pair, (1, 3)).ranges) == pytest.approx((0.9 + 0 + 0.9) / 3)


COLUMNS = st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), max_size=12)


@given(COLUMNS)
def test_bio_there_and_back(columns):
    labels = from_bio(columns)
    again, notes = to_bio(len(columns), labels)
    assert not notes
    assert from_bio(again) == labels


def test_other_ways_to_mark():
    assert [(label.words, label.name) for label in from_bio("S-A B-B E-B U-C B-D L-D I-E O I-E".split())] == [
        ((0, 1), "A"), ((1, 3), "B"), ((3, 4), "C"), ((4, 6), "D"), ((6, 7), "E"), ((8, 9), "E"),
    ]  # fmt: skip


def test_the_surer_label_keeps_the_words():
    columns, notes = to_bio(3, [Label((0, 2), "A", 0, 0.5), Label((1, 3), "B", 1, 0.9)])
    assert columns == ["O", "B-B", "I-B"]
    assert [(note.what, note.label.name) for note in notes] == [("overlap", "A")]


def written(tmp_path, text):
    path = tmp_path / "labels"
    path.write_text(text, encoding="utf-8")
    return path


def test_json_spans_touch_words_and_keep_their_keys(tmp_path):
    text = "Frau Anna-Maria, hier."
    record = {"text": text, "spans": [{"start": 5, "end": 15, "label": "PER", "id": "x"}]}
    (source,) = read_json_labels(written(tmp_path, json.dumps(record)), None, word_finder("unicode"))
    labels = source.labels
    assert labels[0].words == (1, 4)  # Anna - Maria
    target = "here is Anna-Maria"
    found, notes = project_labels(LinkedPair(7, 5, links_of("1-2 2-3 3-4 5-0")), labels)
    handle = io.StringIO()
    write_json_labels(handle, Side(target, word_finder("unicode")(target)), found, notes)
    assert json.loads(handle.getvalue()) == {
        "text": target,
        "spans": [{"start": 8, "end": 18, "label": "PER", "id": "x", "confidence": 1.0, "source": [5, 15]}],
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x", "labels:1: 'x' is not a line of JSON"),
        ("[]", "expected an object"),
        ('{"spans": []}', "no 'text'"),
        ('{"text": "ab", "spans": [{"start": 0, "end": 3, "label": "A"}]}', "span 0-3 is outside the line"),
        (
            '{"text": "ab", "spans": [{"start": "0", "end": 1, "label": "A"}]}',
            "is not a span with start, end and label",
        ),
        ('{"text": "ab", "spans": [{"start": 0, "end": 1}]}', "is not a span with start, end and label"),
        ('{"text": "ab", "spans": [7]}', "is not a span"),
    ],
)
def test_bad_json_is_refused(tmp_path, line, message):
    with pytest.raises(NormalignError, match=message):
        list(read_json_labels(written(tmp_path, line), None, space_words))


def test_conll_there_and_back(tmp_path):
    text = "# a comment\nAnna\tNNP\tB-PER\nsings\tVB\tO\n\n\nIn IN O\nRome NNP B-LOC\n"
    sides = list(read_conll(written(tmp_path, text)))
    assert [side.text for side in sides] == ["Anna sings", "In Rome"]
    assert [[label.words for label in side.labels] for side in sides] == [[(0, 1)], [(1, 2)]]
    handle = io.StringIO()
    for side in sides:
        assert write_conll(handle, side, side.labels) == []
    assert handle.getvalue() == "Anna\tB-PER\nsings\tO\n\nIn\tO\nRome\tB-LOC\n\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [("Anna\n", "labels:1: 1 columns"), ("Anna X-PER\n", "'X-PER' is no label"), ("Anna B\n", "'B' is no label")],
)
def test_bad_conll_is_refused(tmp_path, text, message):
    with pytest.raises(NormalignError, match=message):
        list(read_conll(written(tmp_path, text)))
