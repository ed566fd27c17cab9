"""The demo's corpus: the same from the same seed, with a gold alignment that fits what Moses makes of the text."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "recipes" / "demo"
sys.path.insert(0, str(DEMO))

import corpus  # noqa: E402
from grammar import Grammar, Sentence, say  # noqa: E402
from sacremoses import MosesTokenizer  # noqa: E402

SIZES = {"train": 300, "valid": 20, "test": 400}
HARD = (
    *(
        "verb-final clause",
        "separable verb",
        "verb bracket",
        "clauses in another order",
        "passive",
        "other voice",
        "list",
    ),
    *(
        "adverbial first",
        "compound",
        "article without counterpart",
        "modal particle",
        "English filler",
        "relative clause",
    ),
    *("negation", "kein", "infinitive clause", "question", "number", "name", "one to many", "list in another order"),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("corpus")
    assert corpus.main(["--out", str(out), *(f"--{name}={size}" for name, size in SIZES.items())]) == 0
    return out


@pytest.fixture(scope="module")
def pairs():
    stream = corpus.sentences(1)
    return [next(stream) for _ in range(sum(SIZES.values()))]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_the_same_seed_gives_the_same_files_and_another_seed_others(tmp_path, written):
    sizes = [f"--{name}={size}" for name, size in SIZES.items()]
    for seed in (1, 2):
        assert corpus.main(["--out", str(tmp_path / str(seed)), "--seed", str(seed), *sizes]) == 0
    names = sorted(path.name for path in written.iterdir())
    assert names == ["test.de", "test.en", "test.talp", "train.de", "train.en", "valid.de", "valid.en"]
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (written / name).read_bytes()
    assert lines(tmp_path / "2" / "test.de") != lines(written / "test.de")


def test_the_test_set_does_not_depend_on_the_size_of_the_training_set(tmp_path, written):
    assert corpus.main(["--out", str(tmp_path), "--train=1", "--valid=1", f"--test={SIZES['test']}"]) == 0
    assert lines(tmp_path / "test.de") == lines(written / "test.de")


def test_no_sentence_comes_twice(written):
    for language in corpus.LANGUAGES:
        texts = [line for split in corpus.SPLITS for line in lines(written / f"{split}.{language}")]
        assert len(texts) == len(set(texts)) == sum(SIZES.values())


def test_gold_counts_the_words_that_moses_makes(written):
    moses = {language: MosesTokenizer(language) for language in corpus.LANGUAGES}
    gold = lines(written / "test.talp")
    assert len(gold) == SIZES["test"]
    for line, de, en in zip(gold, lines(written / "test.de"), lines(written / "test.en"), strict=True):
        counts = [len(moses[language].tokenize(text, escape=False)) for language, text in (("de", de), ("en", en))]
        for link in line.split():
            i, j = map(int, re.fullmatch(r"(\d+)[-p](\d+)", link).groups())
            assert 1 <= i <= counts[0]
            assert 1 <= j <= counts[1]


def test_a_text_that_moses_splits_otherwise_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        Grammar, "sentence", lambda self: Sentence(say("O'Neill kam heute an"), say("O'Neill came in today"))
    )
    monkeypatch.setattr(corpus, "sentences", lambda seed: iter([Grammar(seed).sentence()] * 3))
    with pytest.raises(SystemExit, match="O'Neill"):
        corpus.main(["--out", str(tmp_path), "--train=1", "--valid=1", "--test=1"])


def test_sure_links_are_possible_and_final_marks_are_sure(pairs):
    possible_only = 0
    for pair in pairs:
        sure, possible = pair.links()
        assert sure <= possible
        assert (len(pair.german) - 1, len(pair.english) - 1) in sure
        possible_only += len(possible - sure)
    assert possible_only > len(pairs) / 4


def test_every_hard_thing_is_in_the_test_set(pairs):
    counts = Counter(name for pair in pairs[: SIZES["test"]] for name in pair.phenomena)
    assert {name for name in HARD if counts[name] < 3} == set()


def test_words_are_distributed_unevenly(pairs):
    counts = sorted(Counter(word.text.lower() for pair in pairs for word in pair.english).values(), reverse=True)
    assert len(counts) > 500
    assert sum(count == 1 for count in counts) > len(counts) / 6
    assert sum(counts[:20]) > sum(counts) / 4


def test_what_two_words_say_is_linked_to_both(pairs):
    """The finite verb and its separated prefix express one thing; so do the parts of a compound and its two words."""
    apart = whole = 0
    for pair in pairs:
        sure, _ = pair.links()
        for i, word in enumerate(pair.german):
            partners = {j for k, j in sure if k == i}
            same = [
                k
                for k, other in enumerate(pair.german)
                if k != i and other.concepts & word.concepts and word.text.isalpha()
            ]
            apart += any({j for k, j in sure if k == other} == partners != set() for other in same)
            whole += len(word.concepts) > 1 and word.text[0].isupper() and len(partners) > 1
    assert apart > 20
    assert whole > 50


@pytest.mark.parametrize(
    ("language", "wrong"),
    [
        ("de", r"\b(?:den|dem|des) (?:Präsident|Experte)\b|\bdes (?:Land|Rat|Minister)\b"),  # weak and strong nouns
        ("de", r"\b(?:in|zu|bei|von|an) dem [A-ZÄÖÜ]|\bzu der [A-ZÄÖÜ]"),  # contracted
        ("de", r"\b(?:wir|Wir) \w+t\b(?! )|\bhoche|\bteuere"),
        ("en", r"\b(?:[Hh]e|[Ss]he) (?:have|are|do|were|want)\b|\b(?:[Ww]e|[Tt]hey) (?:has|is|does|was|wants)\b"),
        ("en", r"\ba [aeio]\w+|\ban [bcdfg]\w+"),
    ],
)
def test_forms_agree(pairs, language, wrong):
    text = " ".join(pair.text(language) for pair in pairs)
    assert re.findall(wrong, text) == []


def test_a_size_below_one_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        corpus.main(["--out", str(tmp_path), "--test", "0"])
    assert stopped.value.code == 2
    assert "--test is 0; allowed is 1 or more" in capsys.readouterr().err
