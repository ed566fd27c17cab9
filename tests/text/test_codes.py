"""Codes of fastBPE and of subword-nmt with and without a header, and schemes told by looking at a dictionary."""

from __future__ import annotations

import itertools

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.text.subwords import MosesTokenizer, SubwordNmt
from fairseq_normalign.text.vocabulary import NUMBERS, check_words_known, scheme_of_dictionary

FAST = "t h 98\ne r</w> 90\nth e</w> 71\nl o 60\nlo w 41\nlow er</w> 17\nn e 9\n"
WORDS = "the lower newer low then er".split()


def slow_fast_bpe(word: str, codes: str) -> list[str]:
    """fastBPE: letters, the last one marked; again and again the best pair there is, everywhere; marks as ``@@``."""
    ranks = {tuple(line.split(" ")[:2]): rank for rank, line in enumerate(codes.split("\n")[:-1])}
    pieces = [*word[:-1], word[-1] + "</w>"]
    while True:
        pairs = [pair for pair in itertools.pairwise(pieces) if pair in ranks]
        if not pairs:
            break
        best = min(pairs, key=ranks.__getitem__)
        joined, position = [], 0
        while position < len(pieces):
            if tuple(pieces[position : position + 2]) == best:
                joined.append("".join(best))
                position += 2
            else:
                joined.append(pieces[position])
                position += 1
        pieces = joined
    return [piece.removesuffix("</w>") if piece.endswith("</w>") else f"{piece}@@" for piece in pieces]


@pytest.mark.parametrize("columns", [3, 2])
def test_fastbpe_codes_split_as_fastbpe_does(tmp_path, columns):
    codes = tmp_path / "codes"
    codes.write_text("".join(" ".join(line.split(" ")[:columns]) + "\n" for line in FAST.split("\n")[:-1]))
    split = SubwordNmt(codes)
    for word in WORDS:
        assert split([word]) == slow_fast_bpe(word, FAST)
    assert split(["lower"]) == ["lower"]


def test_codes_of_version_one_without_a_header_stay_what_they_are(tmp_path):
    codes = tmp_path / "codes"
    codes.write_text("e r\ner </w>\nl o\nlo w\n")
    assert SubwordNmt(codes)(["lower"]) == ["low@@", "er"]
    codes.write_text("#version: 0.2\ne r</w>\nl o\nlo w\n")
    assert SubwordNmt(codes)(["lower"]) == ["low@@", "er"]


@pytest.mark.parametrize(
    ("content", "line"),
    [("t h 98\ne r\n", 2), ("t h 98\ne r x\n", 2), ("t h\ne r 5\n", 2), ("#version: 0.3\nt h\n", 1)],
)
def test_a_line_that_is_no_merge_is_named(tmp_path, content, line):
    codes = tmp_path / "codes"
    codes.write_text(content)
    with pytest.raises(NormalignError, match=f"codes:{line}: .*is not a merge of"):
        SubwordNmt(codes)


@pytest.mark.parametrize(
    ("symbols", "scheme"),
    [
        (["das", "haus"], "words"),
        (["das", "ha@@", "us"], "subword_nmt"),
        (["▁das", "▁ha", "us"], "sentencepiece"),
        (["262", "1169", "madeupword0000", "14"], NUMBERS),
        (["Ġthe", "Ġhouse", "ing"], "gpt2"),
        ([*"abcdefghijklmnopqrstuvwxyz", "▁", *"äöüß"], "sentencepiece"),
        ([*"abcdefghijklmnopqrstuvwxyz", "▁", chr(0xC3), chr(0x184), chr(0x19F)], "bytebpe"),
    ],
)
def test_schemes_are_told_by_the_dictionary(symbols, scheme):
    from fairseq.data import Dictionary

    dictionary = Dictionary()
    for symbol in symbols:
        dictionary.add_symbol(symbol)
    assert scheme_of_dictionary(dictionary) == scheme
    if scheme == NUMBERS:
        with pytest.raises(NormalignError, match="GPT-2"):
            check_words_known(scheme)
    else:
        check_words_known(scheme)


def test_moses_as_fairseq_calls_it():
    from fairseq.data.encoders.moses_tokenizer import MosesTokenizer as Theirs
    from fairseq.data.encoders.moses_tokenizer import MosesTokenizerConfig

    line = 'Maschinelles Lernen - das "Wahl-O-Mat"-Problem - ist\'s großartig & neu!'
    theirs = Theirs(MosesTokenizerConfig(source_lang="de", target_lang="en")).encode(line)
    assert " ".join(MosesTokenizer("de", "fairseq-moses")(line)) == theirs
    assert " ".join(MosesTokenizer("de")(line)) != theirs
