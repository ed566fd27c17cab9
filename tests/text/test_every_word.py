"""Every word of a line is found again at its place, whatever the line holds and whatever splits it into pieces."""

from __future__ import annotations

import io
import itertools
import random

import pytest

from fairseq_normalign.text.encoding import LineEncoder
from fairseq_normalign.text.options import TextOptions
from fairseq_normalign.text.subwords import TOKENIZERS, MosesTokenizer, SentencePiece, SubwordNmt
from fairseq_normalign.text.words import find_words

from .random_lines import random_line

LINES = 3000
KINDS = (None, "spaces", "unicode", "characters", "moses")
"""How words are found; None: they are given by spaces."""


class Pieces:
    """A dictionary that knows every second piece."""

    unk_word = "<unk>"

    def __getitem__(self, index: int) -> str:
        return f"#{index}"

    def index(self, piece: str) -> int:
        return 4 + sum(map(ord, piece)) % 1000 if len(piece) % 2 else self.unk()

    def unk(self) -> int:
        return 3


def sample(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    return [random_line(rng) for _ in range(count)]


def learned_codes(path, columns: int):
    """Merges of random lines, as subword-nmt writes them (two columns) or fastBPE (three)."""
    from subword_nmt.learn_bpe import learn_bpe

    codes = io.StringIO()
    learn_bpe(io.StringIO("\n".join(sample(5, 300))), codes, 300)
    lines = codes.getvalue().splitlines()
    path.write_text("\n".join(lines if columns == 2 else [f"{line} 7" for line in lines[1:]]) + "\n", encoding="utf-8")
    return SubwordNmt(path)


def learned_sentencepiece(path, **options):
    sentencepiece = pytest.importorskip("sentencepiece")
    text = path.with_suffix(".txt")
    text.write_text("\n".join(sample(6, 1000)), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(path),
        vocab_size=2500,
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
        **options,
    )
    return SentencePiece(f"{path}.model")


SPLITTERS = {
    "subword-nmt": lambda path: learned_codes(path, 2),
    "fastBPE": lambda path: learned_codes(path, 3),
    "SentencePiece, NFKC": learned_sentencepiece,
    "SentencePiece, NFKC, lower case": lambda path: learned_sentencepiece(path, normalization_rule_name="nmt_nfkc_cf"),
    "SentencePiece, across words": lambda path: learned_sentencepiece(
        path, split_by_whitespace=False, model_type="bpe"
    ),
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_every_word_of_random_lines(name, tmp_path):
    """The places are those of the words, each gives its word back, and each word has pieces; none is left over."""
    splitter = SPLITTERS[name](tmp_path / "pieces")
    tokenizers = {None: None} | {name: MosesTokenizer("en", name) for name in TOKENIZERS}
    ways = [(kind, tokenizer) for kind in KINDS for tokenizer in (None, None, *TOKENIZERS)]
    encoders = {}
    for kind, tokenizer in ways:
        find = TextOptions(words=kind, tokenizer=tokenizer).finder("en")
        encode = LineEncoder(Pieces(), splitter, words=find, tokenizer=tokenizers[tokenizer], end=(2,))
        encoders[kind, tokenizer] = encode
    for line, (kind, tokenizer) in zip(sample(11, LINES), itertools.cycle(ways), strict=False):
        encoded = encoders[kind, tokenizer](line)
        assert encoded.text == line
        if kind or not tokenizer:
            assert list(encoded.places) == find_words(line, kind or "spaces"), line
            assert [line[start:end] for start, end in encoded.places] == list(encoded.given_words), line
            again = encoders[kind, tokenizer](line, encoded.places)
            assert (again.indices, again.places) == (encoded.indices, encoded.places), line
        sentence = encoded.sentence
        assert len(sentence.by_word.spans) == len(encoded.places), line
        assert all(start < stop for start, stop in sentence.by_word.spans), line
        assert len(encoded.indices) == len(sentence.pieces)
        if kind is None:
            covered = {place for start, stop in sentence.by_word.spans for place in range(start, stop)}
            assert covered | set(sentence.by_word.specials) == set(range(len(sentence.pieces))), line
