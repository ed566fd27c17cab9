from __future__ import annotations

import random
import sys

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import words_of
from fairseq_normalign.text.words import WORD_KINDS, find_words, join_unspaced, places_of, word_finder, words_at

from .random_lines import random_line


@pytest.mark.parametrize("kind", WORD_KINDS)
def test_spans_are_ordered_and_hold_everything_that_is_visible(kind):
    rng = random.Random(1)
    find = word_finder(kind)
    for _ in range(5000 if kind != "moses" else 800):
        line = random_line(rng)
        spans = find(line)
        flat = [place for span in spans for place in span]
        assert flat == sorted(flat)
        assert all(0 <= start < end <= len(line) for start, end in spans)
        words = words_at(line, spans)
        if kind == "spaces":
            assert words == words_of(line)
            continue
        assert all(word == word.strip() for word in words)
        left = "".join(line[a:b] for a, b in zip([0, *flat[1::2]], [*flat[::2], len(line)], strict=True))
        assert not left.replace("\u200b", "").replace("\u00ad", "").strip(), (line, words)


@pytest.mark.parametrize(
    ("kind", "line", "words"),
    [
        ("spaces", "a\u00a0b  c\td", ["a\u00a0b", "c", "d"]),
        ("unicode", "Don't pay $3.50, e.g.", ["Don't", "pay", "$", "3.50", ",", "e.g", "."]),
        ("unicode", "我爱你", ["我", "爱", "你"]),
        ("unicode", "👨\u200d👩\u200d👧 🇩🇪🇫🇷 \u200b ", ["👨\u200d👩\u200d👧", "🇩🇪", "🇫🇷"]),
        ("unicode", "e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("characters", "e\u0301 x👍🏽", ["e\u0301", "x", "👍🏽"]),
        ("moses", "It's (good), e.g. now...", ["It", "'s", "(", "good", ")", ",", "e.g.", "now", "..."]),
        ("moses", "la\x01b  \u00a0c", ["la\x01b", "c"]),
        ("unicode", "", []),
        ("moses", "   ", []),
    ],
)
def test_words(kind, line, words):
    assert words_at(line, find_words(line, kind)) == words


@pytest.mark.parametrize(
    ("line", "words", "places"),
    [
        ("It's  good", ["It", "&apos;s", "good"], [(0, 2), (2, 4), (6, 10)]),
        ("& Å", ["&amp;", "Å"], [(0, 1), (2, 3)]),
        ("& & a [b]", ["&amp;", "&amp;", "a", "&#91;", "b", "&#93;"], [(0, 1), (2, 3), (4, 5), (6, 7), (7, 8), (8, 9)]),
        ("a-b", ["a", "@-@", "b"], [(0, 1), (1, 2), (2, 3)]),
        ("a", ["a", "x"], [(0, 1), (1, 1)]),
    ],
)
def test_words_of_a_tokenizer_are_found_in_the_line(line, words, places):
    assert places_of(line, words) == places


def test_an_unknown_kind_is_refused():
    with pytest.raises(NormalignError, match="unknown kind of words 'bert'; choose one of spaces, unicode"):
        word_finder("bert")


def test_words_given_by_spaces_reach_the_model_without_them():
    line = "今天  我 用 Python 3 ， สวัสดี ครับ new one"
    text, spans = join_unspaced(line, find_words(line))
    assert text == "今天我用Python 3，สวัสดีครับnew one"
    assert words_at(text, spans) == words_of(line)
    assert join_unspaced("今天 &", [(0, 2), (3, 4), (4, 4)]) == (
        "今天& ",
        [(0, 2), (2, 3), (4, 4)],
    )  # one shows nothing


def test_without_the_package_regex_the_message_says_what_to_install(monkeypatch):
    from fairseq_normalign.text import words

    words._pattern.cache_clear()
    monkeypatch.setitem(sys.modules, "regex", None)
    with pytest.raises(NormalignError, match=r"needs the package 'regex': pip install 'fairseq-normalign\[words\]'"):
        find_words("a b", "unicode")
