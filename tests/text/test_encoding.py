from __future__ import annotations

import pytest
from fairseq.data import Dictionary
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.text.encoding import LineEncoder, batches_by_length
from fairseq_normalign.text.options import TextOptions
from fairseq_normalign.text.subwords import AlreadyPieces, MosesTokenizer, SubwordNmt


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


def test_two_directions_tokenize_a_text_once(dictionary, tmp_path, monkeypatch):
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\nu s</w>\nh a\ns h</w>\n", encoding="utf-8")
    counted, tokenize = [], MosesTokenizer.__call__
    monkeypatch.setattr(MosesTokenizer, "__call__", lambda self, line: counted.append(line) or tokenize(self, line))
    lines = ["Das Haus, das.", "Haus - ", "x" * 3000]
    found = []
    for _ in range(2):  # the models of two directions
        encode = LineEncoder(dictionary, SubwordNmt(codes), tokenizer=MosesTokenizer("de"), lowercase=True)
        found.append([encode(line) for line in lines])
    assert found[0] == found[1]
    assert counted == [*(line.replace("- ", "-") for line in lines), lines[2]]  # a very long line is not remembered
    assert found[0][0].given_words == ("Das", "Haus", ",", "das", ".")


def test_an_empty_line_has_no_words(dictionary):
    line = LineEncoder(dictionary, AlreadyPieces(), end=(dictionary.eos(),))("   ")
    assert line.sentence.by_word.words == ()
    assert line.indices == [2]


def written(line):
    """The words as the places of an encoded line give them."""
    return [line.text[start:end] for start, end in line.places]


@pytest.fixture
def codes(tmp_path):
    path = tmp_path / "codes"
    path.write_text("#version: 0.2\nu s</w>\nh a\n", encoding="utf-8")
    return SubwordNmt(path)


def test_places_are_in_the_line_as_it_was_given(dictionary, codes):
    line = LineEncoder(dictionary, codes, lowercase=True)("__de__  DAS\tHaus ")
    assert (line.sentence.words, written(line)) == (("das", "haus"), ["DAS", "Haus"])
    assert line.places == ((8, 11), (12, 16))
    assert line.given_words == ("DAS", "Haus")
    pieces = LineEncoder(dictionary, AlreadyPieces())("das ha@@  us")
    assert written(pieces) == ["das", "ha@@  us"]
    assert pieces.given_words == ("das", "haus")


def test_words_that_share_a_piece_and_scripts_without_spaces(tmp_path):
    spm = pytest.importorskip("sentencepiece")
    from fairseq_normalign.text.subwords import SentencePiece

    text = tmp_path / "text"
    text.write_text("我爱北京天安门\n北京很大\n我在天安门\nthe house is big\n" * 50, encoding="utf-8")
    spm.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(tmp_path / "m"),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
        model_type="bpe",
    )
    words = Dictionary()
    splitter = SentencePiece(tmp_path / "m.model")
    for piece in splitter(["我爱北京天安门 the house"]):
        words.add_symbol(piece)
    whole = LineEncoder(words, splitter)("我爱北京天安门 the house")
    spaced = LineEncoder(words, splitter)("我 爱 北京 天安 门 the house")
    assert [spaced.text[start:end] for start, end in spaced.places] == spaced.text.split(" ")
    assert "▁门" not in spaced.sentence.pieces
    assert "".join(spaced.sentence.pieces[:-3]) in "".join(whole.sentence.pieces)
    letters = LineEncoder(words, splitter, words=TextOptions(words="characters").finder("zh"))("the house")
    assert written(letters) == list("thehouse")
    assert letters.sentence.by_word.shares_pieces
    assert letters.sentence.pieces == LineEncoder(words, splitter)("the house").sentence.pieces


def test_found_words_need_natural_text():
    from fairseq_normalign.errors import NormalignError

    with pytest.raises(NormalignError, match="BPE codes or a SentencePiece model"):
        TextOptions(words="unicode").splitters(["subword_nmt", "subword_nmt"])
    with pytest.raises(NormalignError, match="unknown words 'bert'"):
        TextOptions(words="bert")


sizes = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=30)


@given(sizes, st.integers(1, 100))
def test_batches_hold_every_pair_once_and_keep_the_limit(sizes, max_tokens):
    found = batches_by_length(sizes, max_tokens)
    assert sorted(place for batch in found for place in batch) == list(range(len(sizes)))
    for batch in found:
        longest = max(max(sizes[place]) for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= max_tokens
