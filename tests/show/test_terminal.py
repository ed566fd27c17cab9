"""The grid in the terminal."""

from __future__ import annotations

import re

import numpy as np

from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.pieces import Sentence
from fairseq_normalign.links.read_pair import ReadPair
from fairseq_normalign.links.readings import MethodReading, Reading
from fairseq_normalign.show.terminal import Look, grid

SOFT = np.array([[[1.0, 0.02, 0.0], [0.4, 0.0, 0.5], [0.0, 0.3, 0.3]]])


def small(words=("das", "alte", "Haus"), gold=True):
    links = Gold(frozenset({(0, 0), (1, 1)}), frozenset({(1, 2)}))
    sides = Sentence.of_words(words), Sentence.of_words(("the", "old", "house"))
    return ReadPair(0, *sides, {"norms": MethodReading(words=SOFT)}, links if gold else None)


def test_the_grid_letter_by_letter():
    lines = list(grid(small(), Reading("norms", 0, None, ""), Look()))
    assert lines == [
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


def test_plain_has_no_escapes_and_colour_changes_nothing_else():
    plain = list(grid(small(), Reading("norms"), Look()))
    coloured = list(grid(small(), Reading("norms"), Look(colour=True)))
    assert not any("\033" in line for line in plain)
    assert "\033[31m✗" in "".join(coloured)
    bare = [re.sub(r"\033\[\d*m", "", line).rstrip() for line in coloured]
    assert bare == plain


def test_ascii_where_unicode_cannot_be_written():
    lines = list(grid(small(gold=False), Reading("norms"), Look(unicode=False)))
    assert "@#" in lines[5]
    assert all(line.isascii() for line in lines[1:])


def test_a_narrow_terminal_folds_the_columns():
    lines = list(grid(small(), Reading("norms"), Look(width=12)))
    assert sum(line.lstrip().startswith("the") for line in lines) == 2
    assert all(len(line) <= 12 for line in lines[1:-1])


def test_wide_letters_and_control_letters_keep_the_columns():
    lines = list(grid(small(words=("私", "a\x1b[31m", "é́")), Reading("norms"), Look()))
    assert not any("\x1b" in line for line in lines)
    assert next(line for line in lines if line.lstrip().startswith("the")).index("■") == 6
