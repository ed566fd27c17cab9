"""The model's own tokenizer, with words kept track of: what the library would feed its model, and whose pieces."""

from __future__ import annotations

import functools

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.options import ModelOptions
from fairseq_normalign.hosts.transformers.host import load
from fairseq_normalign.text.options import TextOptions
from fairseq_normalign.text.words import find_words
from tests.hosts.transformers.folders import LANGUAGES, MAKERS, lines, marian
from tests.hosts.transformers.tiny_families import transformers
from tests.text.test_every_word import LINES, sample

NATURAL = lines(1)[0] + " Жx."
UNFAMILIAR = [
    "Ж",
    "</s>",
    "<pad> da",
    "da\u00a0fe mi",
    "\u200b fe",
    "▁",
    "e\u0301 fe",
    "<unk>",
    "__de__x mi",
    "ｆｅ mi",
    "東京都",
]


def loaded(folder, name, tokenizer=None, lowercase=False):
    return _loaded(str(folder(name)), name, tokenizer, lowercase)


@functools.cache
def _loaded(path, name, tokenizer, lowercase):
    source, target = LANGUAGES.get(name, (None, None))
    options = ModelOptions(path, source_lang=source, target_lang=target)
    return load(options, TextOptions(tokenizer=tokenizer, lowercase=lowercase))


def own_tokenizer(folder, name):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder(name))
    if name in LANGUAGES and name != "t5":
        tokenizer.src_lang, tokenizer.tgt_lang = LANGUAGES[name]
    return tokenizer


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_natural_text_is_what_the_tokenizer_makes_of_it(folder, name):
    host = loaded(folder, name, "moses" if name == "fsmt" else None)
    tokenizer = own_tokenizer(folder, name)
    prefix = "fofi dada: " if name == "t5" else ""
    assert host.source(NATURAL).indices == tokenizer(prefix + NATURAL)["input_ids"]
    if name != "fsmt":  # its tokenizer cannot encode a target
        expected = tokenizer(text_target=lines(2)[0])["input_ids"]
        found = host.target(lines(2)[0]).indices
        assert [*host.target.tokenizer.front, *found, *host.target.tokenizer.back] == expected


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_words_are_those_that_spaces_separate(folder, name):
    host = loaded(folder, name)
    for encoder in (host.source, host.target):
        sentence = encoder(f"  {NATURAL}\t{NATURAL}").sentence
        assert sentence.by_word.words == tuple(NATURAL.split(" ") * 2)
        covered = [position for span in sentence.by_word.spans for position in range(*span)]
        assert sorted([*covered, *sentence.by_word.specials]) == list(range(len(sentence.pieces)))
        assert all(start < stop for start, stop in sentence.by_word.spans)


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_pieces_spell_their_words(folder, name):
    sentence = loaded(folder, name).source(lines(1)[3]).sentence
    for word, span in zip(sentence.by_word.words, sentence.by_word.spans, strict=True):
        spelled = "".join(sentence.pieces[position] for position in range(*span)).replace("▁", "").replace("</w>", "")
        assert spelled == (word.lower() if name == "fsmt" else word)


@pytest.mark.parametrize("line", UNFAMILIAR)
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_word_has_pieces_of_its_own_whatever_it_is(folder, name, line):
    host = loaded(folder, name)
    for side in (host.source, host.target):
        encoded = side(line)
        sentence = encoded.sentence
        assert sentence.by_word.words == tuple(line.split(" "))
        assert len(encoded.indices) == len(sentence.pieces)
        covered = [position for span in sentence.by_word.spans for position in range(*span)]
        assert sorted([*covered, *sentence.by_word.specials]) == list(range(len(sentence.pieces)))


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_an_unknown_piece_is_part_of_its_word(folder, name):
    host = loaded(folder, name)
    before = host.source.unknown
    encoded = host.source("da Жfe mi")
    unknown = host.source.tokenizer.unknown
    places = [position for position, index in enumerate(encoded.indices) if index == unknown]
    start, stop = encoded.sentence.by_word.spans[1]
    real = [place for place in places if place not in encoded.sentence.by_word.specials]
    assert real
    assert all(start <= place < stop for place in real)
    assert host.source.unknown - before == len(real)


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_start_language_and_end_are_no_words(folder, name):
    sentence = loaded(folder, name).source("da fe").sentence
    special = {sentence.pieces[position] for position in sentence.by_word.specials}
    assert "</s>" in special
    marks = {"m2m100": "__de__", "nllb": "deu_Latn", "mbart50": "de_DE", "mbart": "de_DE"}
    assert name not in marks or marks[name] in special


def test_moses_words_in_natural_text(folder):
    words = loaded(folder, "marian", "moses").source("Mede, fado (re).").sentence.by_word.words
    assert words == ("Mede", ",", "fado", "(", "re", ")", ".")


def test_text_in_lower_case(folder):
    assert loaded(folder, "marian", lowercase=True).source("Mede").sentence.by_word.words == ("mede",)


STARTS = {"marian": ["<pad>"], "m2m100": ["</s>", "__en__"], "nllb": ["</s>", "eng_Latn"], "t5": ["<pad>"],
          "mbart50": ["</s>", "en_XX"], "mbart": ["en_XX"], "fsmt": ["</s>"]}  # fmt: skip


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_what_the_decoder_starts_with(folder, name):
    host = loaded(folder, name)
    batch = host.batch([(host.source("da fe"), host.target("mi"))])
    assert host.target.tokenizer.pieces_of(batch.start) == STARTS[name]
    assert host.target.tokenizer.pieces_of([batch.end]) == ["</s>"]


def test_a_language_that_the_model_lacks(folder):
    path = str(folder("nllb"))
    with pytest.raises(NormalignError, match=r"no source language 'de'; did you mean deu_Latn"):
        load(ModelOptions(path, source_lang="de", target_lang="eng_Latn"), TextOptions())
    with pytest.raises(NormalignError, match="target language has to be given"):
        load(ModelOptions(path, source_lang="deu_Latn"), TextOptions())
    with pytest.raises(NormalignError, match="translates de to en, not en to de"):
        load(ModelOptions(str(folder("fsmt")), source_lang="en", target_lang="de"), TextOptions())


def test_a_target_language_in_front_of_the_source(tmp_path):
    """OPUS-MT with several target languages; its tags may also stand in the text."""
    path = str(marian(tmp_path, tags=(">>eng<<", ">>fra<<")))
    host = load(ModelOptions(path, target_lang="fra"), TextOptions())
    encoded = host.source("da fe").sentence
    assert encoded.pieces[0] == ">>fra<<"
    assert encoded.by_word.words == ("da", "fe")
    assert 0 in encoded.by_word.specials
    own = transformers.AutoTokenizer.from_pretrained(path)
    assert host.source("da fe").indices == own(">>fra<< da fe")["input_ids"]
    with pytest.raises(NormalignError, match="no target language 'xyz'; this model has eng, fra"):
        load(ModelOptions(path, target_lang="xyz"), TextOptions())


def test_a_tag_in_the_text_is_no_word(tmp_path):
    path = str(marian(tmp_path, tags=(">>eng<<", ">>fra<<")))
    sentence = load(ModelOptions(path, target_lang="fra"), TextOptions()).source(">>eng<< da >>eng<<").sentence
    assert sentence.by_word.words == ("da", ">>eng<<")


def test_codes_of_another_kind_are_refused(folder, tmp_path):
    with pytest.raises(NormalignError, match="has its own tokenizer"):
        load(ModelOptions(str(folder("marian"))), TextOptions(bpe_codes=["codes"]))


WITH_OFFSETS, WITHOUT_OFFSETS = "nllb", "marian"
"""A tokenizer that says where its pieces are, and one that does not: they get every random line, the others some."""


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_word_of_random_lines(folder, name):
    host = loaded(folder, name)
    for line in sample(12, LINES if name in (WITH_OFFSETS, WITHOUT_OFFSETS) else LINES // 50):
        encoded = host.target(line)
        sentence = encoded.sentence
        assert encoded.text == line
        assert list(encoded.places) == find_words(line, "spaces"), line
        assert [line[start:end] for start, end in encoded.places] == list(encoded.given_words), line
        assert len(sentence.by_word.spans) == len(encoded.places), line
        assert all(start < stop for start, stop in sentence.by_word.spans), line
        covered = {place for span in sentence.by_word.spans for place in range(*span)}
        assert covered | set(sentence.by_word.specials) == set(range(len(encoded.indices))), line
