"""The demo's corpus: the same from the same seed, with a gold alignment that fits what Moses makes of the text."""

import re
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "recipes" / "demo"
sys.path.insert(0, str(DEMO))

import corpus  # noqa: E402
from bitext import english, german, lexicon  # noqa: E402
from bitext.meaning import Phrase, Quality  # noqa: E402
from bitext.phenomena import PHENOMENA, phenomena  # noqa: E402
from bitext.tokens import detokenize, links, tidy_commas, token  # noqa: E402
from sacremoses import MosesTokenizer  # noqa: E402

SIZES = {"train": 300, "valid": 20, "test": 400}


@pytest.fixture(scope="module")
def splits():
    return corpus.split_corpus(1, SIZES)


@pytest.fixture(scope="module")
def written(tmp_path_factory, splits):
    out = tmp_path_factory.mktemp("corpus")
    corpus.write_corpus(out, splits)
    return out


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


def test_the_test_set_does_not_depend_on_the_size_of_the_training_set(splits):
    fewer = corpus.split_corpus(1, {"train": 1, "valid": 1, "test": SIZES["test"]})
    assert [pair.text("de") for pair in fewer["test"]] == [pair.text("de") for pair in splits["test"]]


def test_no_sentence_comes_twice(splits):
    for language in corpus.LANGUAGES:
        texts = [pair.text(language) for split in splits.values() for pair in split]
        assert len(texts) == len(set(texts)) == sum(SIZES.values())


def test_gold_counts_the_words_that_moses_makes(written):
    moses = {language: MosesTokenizer(language) for language in corpus.LANGUAGES}
    gold = lines(written / "test.talp")
    assert len(gold) == SIZES["test"]
    for line, de, en in zip(gold, lines(written / "test.de"), lines(written / "test.en"), strict=True):
        de_words = moses["de"].tokenize(de, escape=False)
        en_words = moses["en"].tokenize(en, escape=False)
        for link in line.split():
            i, j = map(int, re.fullmatch(r"(\d+)[-p](\d+)", link).groups())
            assert 1 <= i <= len(de_words)
            assert 1 <= j <= len(en_words)


def test_a_text_that_moses_splits_otherwise_is_refused():
    pair = corpus.Pair((token("O'Neill"),), (token("there"),), next(corpus.pairs(1)).meaning)
    moses = {language: MosesTokenizer(language) for language in corpus.LANGUAGES}
    with pytest.raises(corpus.TokenizationError, match="O'Neill"):
        corpus.check_tokenization(pair, moses)


def test_sure_links_are_possible_and_final_marks_are_sure(splits):
    possible_only = 0
    for pair in splits["test"]:
        sure, possible = links(pair.german, pair.english)
        assert sure <= possible
        assert (len(pair.german) - 1, len(pair.english) - 1) in sure
        possible_only += len(possible - sure)
    assert possible_only > SIZES["test"] / 4


@pytest.mark.parametrize("name", PHENOMENA)
def test_every_hard_thing_is_in_the_test_set(splits, name):
    assert sum(name in phenomena(pair.meaning) for pair in splits["test"]) >= 3


def test_words_are_distributed_unevenly(splits):
    words = [token.text.lower() for split in splits.values() for pair in split for token in pair.english]
    counts = sorted((words.count(word) for word in set(words)), reverse=True)
    assert len(counts) > 500
    assert sum(count == 1 for count in counts) > len(counts) / 5
    assert sum(counts[:20]) > len(words) / 4


def test_both_parts_of_a_separated_verb_are_linked(splits):
    pairs = [pair for split in splits.values() for pair in split]
    apart = [pair for pair in pairs if "separable verb apart" in phenomena(pair.meaning)]
    assert len(apart) > 5
    for pair in apart:
        verb = f"{pair.meaning.main.uid}.verb"
        parts = [i for i, word in enumerate(pair.german) if verb in word.concepts]
        assert pair.german[parts[-1]].text == pair.meaning.main.verb.prefix
        sure, _ = links(pair.german, pair.english)
        partners = [{j for i, j in sure if i == part} for part in parts]
        assert len(partners) >= 2
        assert all(found and found == partners[0] for found in partners)


def test_a_compound_is_linked_to_each_of_its_words():
    plan = next(noun for noun in lexicon.THINGS.entries if noun.german == "Plan")
    modifier = next(pair for pair in lexicon.MODIFIERS.entries if pair.german == "Haushalts")
    phrase = Phrase("n", "noun", noun=plan, modifier=modifier)
    de, en = german.noun_phrase(phrase, "gen"), english.noun_phrase(phrase)
    assert detokenize(de) == "des Haushaltsplanes"
    assert detokenize(en) == "the budget plan"
    assert links(de, en)[0] == {(0, 0), (1, 1), (1, 2)}


def test_an_article_that_english_omits_has_only_a_possible_link():
    freedom = next(noun for noun in lexicon.GENERIC.entries if noun.german == "Freiheit")
    phrase = Phrase("n", "noun", noun=freedom, determiner="generic")
    de, en = german.noun_phrase(phrase, "acc"), english.noun_phrase(phrase)
    assert [detokenize(de), detokenize(en)] == ["die Freiheit", "freedom"]
    assert links(de, en) == ({(1, 0)}, {(0, 0), (1, 0)})


def test_a_list_that_english_turns_round_keeps_its_links():
    nouns = {noun.german: noun for noun in lexicon.PEOPLE.entries}
    frau, *others = (Phrase(name, "noun", noun=nouns[name]) for name in ("Frau", "Minister", "Lehrer"))
    frau.joined = others
    de = german.noun_phrase(frau, "nom")
    assert detokenize(de) == "die Frau, der Minister und der Lehrer"
    assert detokenize(english.noun_phrase(frau)) == "the woman, the minister and the teacher"
    frau.swapped = True
    en = english.noun_phrase(frau)
    assert detokenize(en) == "the teacher, the minister and the woman"
    words = {(de[i].text, en[j].text) for i, j in links(de, en)[0]}
    assert {("Frau", "woman"), ("Minister", "minister"), ("Lehrer", "teacher"), (",", ","), ("und", "and")} <= words
    assert len(words) == 7  # and two different articles


def test_where_english_says_what_differs_from_sentence_to_sentence(splits):
    """The next word cannot be guessed from the source alone, or looking ahead would be as good as looking back."""
    clauses = [pair.meaning.main for pair in splits["train"]]
    places = {clause.english_comment for clause in clauses if clause.comment}
    assert places == {"front", "middle", "end"}
    for name in ("time", "place"):
        having = [clause for clause in clauses if getattr(clause, name)]
        fronted = sum(clause.english_front == name for clause in having)
        assert 0.1 < fronted / len(having) < 0.9
    two = [pair.meaning for pair in splits["train"] if pair.meaning.second]
    assert {meaning.second_first for meaning in two} == {True, False}


def test_commas_that_meet_become_one_and_none_stands_before_the_full_stop():
    words = [token(","), token("a"), token(",", "x"), token(",", "y"), token("b"), token(","), token(".")]
    tidied = tidy_commas(words)
    assert [word.text for word in tidied] == ["a", ",", "b", "."]
    assert tidied[1].concepts == {"x", "y"}


@pytest.mark.parametrize(
    ("lemma", "case", "plural", "expected"),
    [
        ("Präsident", "acc", False, "den neuen Präsidenten"),
        ("Land", "gen", False, "des neuen Landes"),
        ("Kind", "dat", True, "den neuen Kindern"),
        ("Frau", "dat", False, "der neuen Frau"),
    ],
)
def test_german_inflection(lemma, case, plural, expected):
    tables = (lexicon.PEOPLE, lexicon.BODIES)
    noun = next(noun for table in tables for noun in table.entries if noun.german == lemma)
    phrase = Phrase("n", "noun", noun=noun, plural=plural)
    phrase.qualities = [Quality("q", "neu", ("new",))]
    assert detokenize(german.noun_phrase(phrase, case)) == expected


def test_a_size_below_one_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        corpus.main(["--out", str(tmp_path), "--test", "0"])
    assert stopped.value.code == 2
    assert "--test is 0; allowed is 1 or more" in capsys.readouterr().err
