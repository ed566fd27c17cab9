"""Pieces find their characters again, whatever a tokenizer did to the line."""

from __future__ import annotations

import os
import random
import unicodedata

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.pieces import _BYTE_OF
from fairseq_normalign.text.offsets import piece_spans, piece_texts, pieces_of_words
from fairseq_normalign.text.words import space_words, words_at

from .random_lines import random_line

LINES = int(os.environ.get("NORMALIGN_OFFSET_LINES", "1000"))
"""Random lines of each test; NORMALIGN_OFFSET_LINES=5000 takes a minute or two."""


def lines(seed: int, count: int = LINES):
    rng = random.Random(seed)
    for _ in range(count):
        yield rng, random_line(rng)


def check(line, spans):
    """What holds for any pieces: in order, within the line."""
    found = [span for span in spans if span]
    assert [start for start, _ in found] == sorted(start for start, _ in found)
    assert all(0 <= start <= end <= len(line) for start, end in found), (line, spans)


def chopped(rng, text):
    cuts = sorted(rng.sample(range(1, len(text)), min(len(text) - 1, rng.randint(0, 3)))) if len(text) > 1 else []
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def has_letters(text):
    return any(not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf") for c in text)


@pytest.mark.parametrize("change", ["as it is", "lower", "NFKC", "NFD", "NFKC lower", "no accents"])
def test_pieces_of_subword_nmt_after_normalization(change):
    """Each word is normalized and cut at random: its pieces must come back to it, and to no other."""
    for rng, line in lines(2):
        words = space_words(line)
        pieces, owners = [], []
        for number, word in enumerate(words_at(line, words)):
            text = normalized(word, change)
            parts = chopped(rng, text) if text else []
            pieces += [f"{part}@@" for part in parts[:-1]] + parts[-1:]
            owners += [number] * len(parts)
        spans = piece_spans(line, piece_texts(pieces, "subword_nmt", unknown=None))
        check(line, spans)
        for piece, owner, span in zip(pieces, owners, spans, strict=True):
            if has_letters(piece.removesuffix("@@")):
                start, end = words[owner]
                assert start <= span[0] < span[1] <= end, (line, pieces, spans)


def normalized(word, change):
    for form in ("NFKC", "NFD"):
        if form in change:
            word = unicodedata.normalize(form, word)
    if change == "no accents":
        word = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    word = word.lower() if "lower" in change else word
    return "".join(word.split())


@pytest.fixture(scope="module")
def sentencepiece_models(tmp_path_factory):
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("sentencepiece")
    (folder / "text").write_text("\n".join(line for _, line in lines(5, 2000)), encoding="utf-8")
    found = {}
    for name, options in {
        "nmt_nfkc": {},
        "nmt_nfkc_cf": {"normalization_rule_name": "nmt_nfkc_cf"},
        "identity": {"normalization_rule_name": "identity", "add_dummy_prefix": False},
        "bytes": {"byte_fallback": True, "character_coverage": 0.98},
        "across words": {"split_by_whitespace": False, "model_type": "bpe"},
    }.items():
        prefix = str(folder / name.replace(" ", "_"))
        sentencepiece.SentencePieceTrainer.train(
            input=str(folder / "text"), model_prefix=prefix, vocab_size=2500, minloglevel=2, num_threads=1,
            hard_vocab_limit=False, **options,
        )  # fmt: skip
        found[name] = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    return found


def library_offsets(model, line):
    try:
        found = model.encode(line, return_type="offset_mapping")
        return found["pieces"], found["offsets"]
    except TypeError:  # before 0.2.2
        found = model.encode(line, out_type="immutable_proto").pieces
        return [piece.piece for piece in found], [(piece.begin, piece.end) for piece in found]


@pytest.mark.parametrize("name", ["nmt_nfkc", "nmt_nfkc_cf", "identity", "bytes", "across words"])
def test_pieces_of_sentencepiece_are_where_sentencepiece_says(sentencepiece_models, name):
    """The oracle is the library's own offsets: no character of ours may lie in a word that theirs does not touch."""
    model = sentencepiece_models[name]
    for _, line in lines(6):
        pieces, offsets = library_offsets(model, line)
        spans = piece_spans(line, piece_texts(pieces, "sentencepiece"))
        check(line, spans)
        words = space_words(line)
        for piece, ours, theirs in zip(pieces, spans, offsets, strict=True):
            if not has_letters(line[slice(*theirs)].replace("▁", " ")) or ours[0] == ours[1]:
                continue  # marks alone, or a byte before the last of its character
            touched = [w for w, (a, b) in enumerate(words) if max(a, theirs[0]) < min(b, theirs[1])]
            found = [w for w, (a, b) in enumerate(words) if max(a, ours[0]) < min(b, ours[1])]
            if len(unicodedata.normalize("NFKC", line[ours[1] - 1])) > 1:
                continue  # half of ℃ is in this piece: the library counts it to one of the two alone
            assert set(found) <= set(touched), (line, pieces, piece, ours, theirs)


def test_bytes_of_gpt2():
    """Bytes cut anywhere, inside characters too: a piece covers each character it has a byte of."""
    letter_of = {byte: letter for letter, byte in _BYTE_OF.items()}
    for rng, line in lines(7):
        line = line.replace("▁", "_")
        data = line.encode()
        starts = [len(line[:place].encode()) for place in range(len(line) + 1)]
        parts = chopped(rng, data) if len(data) > 1 else [data]
        pieces = ["".join(letter_of[byte] for byte in part) for part in parts]
        spans = piece_spans(line, piece_texts(pieces, "gpt2", unknown=None))
        check(line, spans)
        begin = 0
        for part, span in zip(parts, spans, strict=True):
            end = begin + len(part)
            covered = [
                place for place in range(len(line))
                if starts[place] < end and starts[place + 1] > begin and has_letters(line[place])
            ]  # fmt: skip
            if covered:
                assert span == (covered[0], covered[-1] + 1), (line, pieces)
            begin = end


def test_unknown_pieces_take_the_place_between_their_neighbours():
    for rng, line in lines(8, 1000):
        words = [w for w in space_words(line) if has_letters(line[slice(*w)])]
        texts = words_at(line, words)
        if len(set(texts)) < len(texts) or len(texts) < 3:
            continue
        hidden = rng.randrange(1, len(texts) - 1)
        if any(texts[hidden + 1].casefold() in word.casefold() for word in texts[: hidden + 1]):
            continue  # what follows is seen earlier: no one can tell
        spans = piece_spans(line, [None if n == hidden else text for n, text in enumerate(texts)])
        shared = pieces_of_words(words, spans)
        assert hidden in shared[hidden]


def test_a_line_that_has_nothing_to_do_with_its_pieces_is_no_error():
    for rng, line in lines(9, 500):
        other = random_line(rng)
        check(line, piece_spans(line, chopped(rng, other)))


@pytest.mark.parametrize(
    ("line", "texts", "spans"),
    [
        ("", [], []),
        ("", ["a", None, ""], [(0, 0), (0, 0), None]),
        ("ab", [" ", "ab", ""], [(0, 0), (0, 2), None]),
        ("it's", ["it", "&apos;s"], [(0, 2), (2, 4)]),
        ("a b", ["a", " ", "b"], [(0, 1), (2, 2), (2, 3)]),
        ("of the", [" of the"], [(0, 6)]),
        ("世界 x", [b"\xe4\xb8", b"\x96", b"\xe7\x95\x8c", " x"], [(0, 1), (0, 1), (1, 2), (3, 4)]),
        ("ﬁn", ["f", "in"], [(0, 1), (0, 2)]),
        ("abc", [b"\xff", "bc"], [(0, 1), (1, 3)]),
        ("x " * 3, [None], [(0, 5)]),
    ],
)
def test_spans(line, texts, spans):
    assert piece_spans(line, texts) == spans


def test_an_unknown_scheme_is_refused():
    with pytest.raises(NormalignError, match="unknown piece scheme 'x'; choose one of subword_nmt"):
        piece_texts(["a"], "x")
