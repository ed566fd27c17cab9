from __future__ import annotations

import pytest
from fairseq.data import Dictionary

from fairseq_normalign.text.encoding import LineEncoder
from fairseq_normalign.text.subwords import AlreadyPieces, SubwordNmt


@pytest.fixture
def dictionary():
    words = Dictionary()
    for piece in ("ha@@", "us", "das", "__de__", "un@@"):
        words.add_symbol(piece)
    return words


def test_unknown_pieces_stay_in_their_word(dictionary):
    line = LineEncoder(dictionary, AlreadyPieces(), end=(dictionary.eos(),))("das ge@@ ha@@ us nix")
    assert line.sentence.by_word.words == ("das", "gehaus", "nix")
    assert line.sentence.by_word.spans == ((0, 1), (1, 4), (4, 5))
    assert line.sentence.by_word.specials == (5,)
    assert line.indices == [dictionary.index("das"), 3, dictionary.index("ha@@"), dictionary.index("us"), 3, 2]


def test_tags_in_front_are_no_words(dictionary):
    line = LineEncoder(dictionary, AlreadyPieces(), lowercase=True)("__de__ DAS ha@@ us")
    assert line.sentence.by_word.words == ("das", "haus")
    assert line.sentence.by_word.spans == ((1, 2), (2, 4))
    assert line.sentence.by_piece.spans == ((1, 2), (2, 3), (3, 4))
    assert line.sentence.by_word.specials == (0,)
    assert line.indices[0] == dictionary.index("__de__")
    assert len(line) == 4


def test_codes_keep_every_word_apart(dictionary, tmp_path):
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\nu s</w>\nh a\n", encoding="utf-8")
    encode = LineEncoder(dictionary, SubwordNmt(codes))
    for _ in range(2):  # the second time from memory
        line = encode("haus das@@ haus")
        assert line.sentence.by_word.words == ("haus", "das@@", "haus")
        assert [stop - start for start, stop in line.sentence.by_word.spans][::2] == [2, 2]
        assert line.indices[:2] == [dictionary.index("ha@@"), dictionary.index("us")]


def test_an_empty_line_has_no_words(dictionary):
    line = LineEncoder(dictionary, AlreadyPieces(), end=(dictionary.eos(),))("   ")
    assert line.sentence.by_word.words == ()
    assert line.indices == [2]
