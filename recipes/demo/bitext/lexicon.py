"""The tables of :mod:`words` as objects, and tables from which common words are drawn more often than rare ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from . import words

Entry = TypeVar("Entry")
ZIPF_OFFSET = 1  # the first word of a table is drawn twice as often as the second


@dataclass(frozen=True)
class Noun:
    """A noun; each English form is a tuple of words, the last one inflected. ``plural`` is empty for a mass noun."""

    german: str
    gender: str
    plural: str
    weak: bool
    english: tuple[tuple[str, ...], ...]
    english_plural: tuple[tuple[str, ...], ...]
    person: bool = False


@dataclass(frozen=True)
class EnglishVerb:
    """The forms of an English verb and the fixed words that follow it."""

    base: str
    past: str
    participle: str
    rest: tuple[str, ...]


@dataclass(frozen=True)
class Verb:
    """A German verb with its translations. ``prefix`` is separable, ``fixed`` are words such as ``zur Verfügung``."""

    infinitive: str
    third: str
    past: str
    participle: str
    auxiliary: str
    prefix: str
    fixed: tuple[str, ...]
    reflexive: bool
    english: tuple[EnglishVerb, ...]
    preposition: str = ""
    case: str = ""


@dataclass(frozen=True)
class Expression:
    """A fixed phrase: per language, words with the concepts they express and those they fall back to."""

    german: tuple[tuple[str, str, str], ...]
    english: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Pair:
    """A word and its translations, each a tuple of words."""

    german: str
    english: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Preposition:
    """A preposition, the case it governs and its translation."""

    german: str
    case: str
    english: tuple[str, ...]


class Table(Generic[Entry]):
    """Entries drawn with a Zipf-like distribution over their order."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = list(entries)
        self._weights = list(itertools.accumulate(1 / (rank + ZIPF_OFFSET) for rank in range(len(self.entries))))

    def draw(self, rng: random.Random) -> Entry:
        """One entry; those in front come more often."""
        return rng.choices(self.entries, cum_weights=self._weights)[0]


def _table(text: str, parse: Callable[[str], Entry]) -> Table[Entry]:
    return Table([parse(line) for line in text.strip().splitlines()])


def _alternatives(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(choice.split("_")) for choice in text.split("/"))


def english_plural(word: str) -> str:
    """The regular plural of an English noun."""
    if word.endswith(("s", "x", "ch", "sh", "z")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def parse_noun(line: str, person: bool = False) -> Noun:
    """A line such as ``Kind n Kinder | child:children``."""
    german, english = (part.split() for part in line.split(" | "))
    singulars, plurals = [], []
    for choice in english[0].split("/"):
        singular, _, irregular = choice.partition(":")
        parts = tuple(singular.split("_"))
        singulars.append(parts)
        plurals.append((*parts[:-1], irregular or english_plural(parts[-1])))
    lemma, gender, plural = german
    return Noun(
        lemma, gender[0], plural.strip("-"), gender.endswith("w"), tuple(singulars), tuple(plurals), person=person
    )


def _english_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + "ed"


def _parse_english_verb(text: str) -> EnglishVerb:
    head, *rest = text.split()
    base, *irregular = head.split(":")
    past, participle = irregular if irregular else (_english_past(base), _english_past(base))
    return EnglishVerb(base, past, participle, tuple(rest))


def parse_verb(line: str) -> Verb:
    """A line such as ``ab|lehnen lehnt lehnte abgelehnt | reject``."""
    german, english = line.split(" | ")
    fields = german.split()
    reflexive = fields[0] == "sich"
    fields = fields[1:] if reflexive else fields
    fixed = tuple(fields.pop(0)[1:].split("_")) if fields[0].startswith("+") else ()
    lemma, third, past, participle, *governed = fields
    prefix, _, infinitive = lemma.rpartition("|")
    preposition, _, case = governed[0].partition(":") if governed else ("", "", "")
    return Verb(
        infinitive,
        third,
        past,
        participle.rstrip("*"),
        "sein" if participle.endswith("*") else "haben",
        prefix,
        fixed,
        reflexive,
        tuple(_parse_english_verb(choice) for choice in english.split("/")),
        preposition,
        case,
    )


def _parse_marked(text: str) -> tuple[tuple[str, str, str], ...]:
    marked = []
    for item in text.split():
        word, _, concepts = item.partition("/")
        own, _, fallback = concepts.partition("?")
        marked.append((word, own, fallback))
    return tuple(marked)


def parse_expression(line: str) -> Expression:
    """A line such as ``im/?1 vergangenen/1 Monat/2 = last/1 month/2``."""
    german, english = line.split(" = ")
    return Expression(_parse_marked(german), _parse_marked(english))


def _parse_pair(line: str) -> Pair:
    german, english = line.split()
    return Pair(german, _alternatives(english))


def _parse_preposition(line: str) -> Preposition:
    german, case, english = line.split()
    return Preposition(german, case, tuple(english.split("_")))


PEOPLE = _table(words.PEOPLE, lambda line: parse_noun(line, person=True))
BODIES = _table(words.BODIES, parse_noun)
THINGS = _table(words.THINGS, parse_noun)
GENERIC = _table(words.GENERIC, parse_noun)
MODIFIERS = _table(words.MODIFIERS, _parse_pair)
EVENTS = Table([noun for noun in THINGS.entries if noun.german in words.EVENTS.split()])


def _compound_heads(table: Table[Noun]) -> Table[Noun]:
    return Table([noun for noun in table.entries if noun.german in words.COMPOUND_HEADS.split()])


COMPOUND_PEOPLE, COMPOUND_BODIES, COMPOUND_THINGS = map(_compound_heads, (PEOPLE, BODIES, THINGS))

TRANSITIVE = _table(words.TRANSITIVE, parse_verb)
INTRANSITIVE = _table(words.INTRANSITIVE, parse_verb)
DATIVE = _table(words.DATIVE, parse_verb)
PREPOSITIONAL = _table(words.PREPOSITIONAL, parse_verb)
DITRANSITIVE = _table(words.DITRANSITIVE, parse_verb)
CLAUSAL = _table(words.CLAUSAL, parse_verb)
CONTROL = _table(words.CONTROL, parse_verb)
COPULAS = _table(words.COPULAS, parse_verb)
EXISTENCE = parse_verb(words.EXISTENCE)

ADJECTIVES = _table(words.ADJECTIVES, _parse_pair)
COMPARABLE = frozenset(words.COMPARABLE.split())
_ADJECTIVE = {entry.german: entry for entry in ADJECTIVES.entries}
PERSONAL = Table([_ADJECTIVE[word] for word in words.PERSONAL.split()])
PREDICATIVE = Table([_ADJECTIVE[word] for word in words.PREDICATIVE.split()])
NAMES = Table(words.NAMES.split())
FIRST_NAMES = Table(words.FIRST_NAMES.split())
PLACES = _table(words.PLACES, _parse_pair)
MONTHS = _table(words.MONTHS, _parse_pair)
WEEKDAYS = _table(words.WEEKDAYS, _parse_pair)
NUMBER_WORDS = _table(words.NUMBER_WORDS, _parse_pair)
TIMES = {
    "past": _table(words.PAST_TIMES, parse_expression),
    "present": _table(words.PRESENT_TIMES, parse_expression),
    "future": _table(words.FUTURE_TIMES, parse_expression),
}
COMMENTS = _table(words.COMMENTS, parse_expression)
MANNERS = _table(words.MANNERS, parse_expression)
VOCATIVES = _table(words.VOCATIVES, parse_expression)
PARTICLES = Table(words.PARTICLES.split())
FILLERS = Table(words.FILLERS.split())
PREPOSITIONS = _table(words.PREPOSITIONS, _parse_preposition)
TEMPORAL = frozenset(words.TEMPORAL.split())
ATTRIBUTIVE = Table([entry for entry in PREPOSITIONS.entries if entry.german in words.ATTRIBUTIVE.split()])
CONJUNCTIONS = _table(words.CONJUNCTIONS, _parse_pair)
QUESTION_WORDS = _table(words.QUESTION_WORDS, _parse_pair)
