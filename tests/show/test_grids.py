"""Grids of letters for the terminal, and as SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.pieces import Sentence
from fairseq_normalign.links.read_pair import ReadPair
from fairseq_normalign.links.readings import MethodReading, Reading
from fairseq_normalign.show.grids import Look, svg_grid, text_grid

SOFT = np.array([[[1.0, 0.02, 0.0], [0.4, 0.0, 0.5], [0.0, 0.3, 0.3]]])
GOLD = Gold(frozenset({(0, 0), (1, 1)}), frozenset({(1, 2)}))


def lines_of(look, words=("das", "alte", "Haus"), gold=GOLD):
    sides = Sentence.of_words(words), Sentence.of_words(("the", "old", "house"))
    pair = ReadPair(0, *sides, {"norms": MethodReading(words=SOFT)}, gold)
    return list(text_grid(pair, Reading("norms", 0, None, ""), look))


def test_the_grid_letter_by_letter():
    assert lines_of(Look()) == [
        "sentence 1 · norms",
        "        a H",
        "      d l a",
        "      a t u",
        "      s e s",
        "  the ■█",
        "  old ██○ ✗█",
        "house   ■███",
        "■ link   ✗ wrong   ○ missed   shade: part of the row's largest value, ·░▒▓█",
    ]


def test_colour_changes_nothing_else():
    coloured = lines_of(Look(colour=True))
    assert "\033[31m✗" in "".join(coloured)
    assert [re.sub(r"\033\[\d*m", "", line).rstrip() for line in coloured] == lines_of(Look())
    assert not any("\033" in line for line in lines_of(Look()))


def test_ascii_where_unicode_cannot_be_written():
    lines = lines_of(Look(unicode=False), gold=None)
    assert "@#" in lines[5]
    assert all(line.isascii() for line in lines[1:])


def test_a_narrow_terminal_folds_the_columns():
    lines = lines_of(Look(width=12))
    assert sum(line.lstrip().startswith("the") for line in lines) == 2
    assert all(len(line) <= 12 for line in lines[1:-1])


def test_wide_letters_and_control_letters_keep_the_columns():
    lines = lines_of(Look(), words=("私", "a\x1b[31m", "é́"))
    assert not any("\x1b" in line for line in lines)
    assert next(line for line in lines if line.lstrip().startswith("the")).index("■") == 6


def test_svg_has_every_mark_and_its_words_are_text():
    words = ["<das>", "alte", "Haus"]
    root = ElementTree.fromstring(
        svg_grid(words, ["the", "old", "house"], [(0, 0), (2, 1)], SOFT[0], GOLD, title="a&b")
    )
    kinds = [element.get("class") for element in root if element.get("class")]
    assert sorted(kinds) == ["gold", "gold", "gold", "missed", "right", "wrong"]
    texts = [element.text for element in root if element.tag.endswith("text")]
    assert texts == ["a&b", *words, "the", "old", "house"]
    assert "style=" not in svg_grid(words, words, [])  # a page's policy forbids it
