"""What a sentence says, in no language: the tree that :mod:`german` and :mod:`english` each put into words."""

from __future__ import annotations

from dataclasses import dataclass, field

from .lexicon import EnglishVerb, Expression, Noun, Pair, Preposition, Verb


@dataclass(frozen=True)
class Tense:
    """How each language says it: the finite verb's tense, and the auxiliaries from the outermost inwards."""

    weight: float
    german: str
    german_auxiliaries: tuple[str, ...]
    english: str
    english_auxiliaries: tuple[str, ...]
    time: str  # which time expressions go with it; empty: none


@dataclass(frozen=True)
class Modal:
    """A modal verb of German and its English: the words after the first are fixed."""

    german: str
    english: tuple[str, ...]


@dataclass
class Quality:
    """An adjective in use."""

    uid: str
    german: str
    english: tuple[str, ...]
    comparative: bool = False
    degree: Pair | None = None


@dataclass
class Adverbial:
    """A fixed phrase in use."""

    uid: str
    expression: Expression


@dataclass
class Prepositional:
    """A preposition with what it governs."""

    uid: str
    preposition: Preposition
    phrase: Phrase


@dataclass
class Relative:
    """A relative clause; ``extraposed`` moves it behind the German verb, ``bare`` leaves out the English pronoun."""

    uid: str
    clause: Clause
    role: str  # subject or object: what the antecedent is in the clause
    extraposed: bool = False
    bare: bool = False
    commas: bool = False


@dataclass
class Phrase:
    """A noun phrase: a noun, a name, a place, a pronoun or an amount."""

    uid: str
    kind: str  # noun, name, place, pronoun, expletive, amount
    noun: Noun | None = None
    choice: int = 0  # which of the noun's translations
    modifier: Pair | None = None  # the first part of a compound
    plural: bool = False
    determiner: str = "def"
    numeral: tuple[str, str] | None = None
    qualities: list[Quality] = field(default_factory=list)
    genitive: Phrase | None = None
    possessive: bool = False  # English 's instead of "of"
    attribute: Prepositional | None = None
    relative: Relative | None = None
    name: tuple[Pair, ...] = ()
    pronoun: str = ""
    joined: list[Phrase] = field(default_factory=list)  # what is listed with it: commas, and "and" before the last
    swapped: bool = False  # English lists them the other way round

    @property
    def agrees_plural(self) -> bool:
        """Whether a verb that agrees with the phrase is plural."""
        return self.plural or bool(self.joined) or self.pronoun in ("we", "they")

    @property
    def first_person(self) -> bool:
        """Whether a verb that agrees with the phrase is in the first person."""
        return self.pronoun in ("I", "we")


@dataclass
class Clause:
    """A verb with its arguments and adjuncts. ``subject`` is who the verb agrees with, even where it is not said."""

    uid: str
    subject: Phrase
    verb: Verb
    english: EnglishVerb
    tense: Tense
    gap: str = ""  # the argument that a relative pronoun stands for
    modal: Modal | None = None
    passive: bool = False
    agent: Phrase | None = None
    object: Phrase | None = None
    indirect: Phrase | None = None
    shifted: bool = False  # English "give her the book" for "give the book to her"
    governed: Phrase | None = None  # behind the verb's own preposition
    quality: Quality | None = None
    negation: str = ""  # nicht; kein-not; kein-no
    particle: str = ""  # said in German alone
    filler: str = ""  # said in English alone
    comment: Adverbial | None = None
    time: Adverbial | None = None
    manner: Adverbial | None = None
    place: Prepositional | None = None
    complement: Clause | None = None
    complement_kind: str = ""  # that, bare-that, infinitive
    purpose: Clause | None = None
    german_front: str = "subject"
    late_time: bool = False  # German says when behind the object
    english_front: str = ""
    english_comment: str = "front"  # or: middle, end
    time_before_place: bool = False  # in English
    recast: bool = False  # English turns active into passive, or a passive with an agent into active


@dataclass
class Subordinate:
    """A clause that a conjunction ties to the main one; each language puts it before or behind."""

    uid: str
    conjunction: Pair
    clause: Clause
    first: bool
    first_in_english: bool


@dataclass
class Sentence:
    """A main clause with what surrounds it."""

    uid: str
    main: Clause
    question: bool = False
    question_word: Pair | None = None
    vocative: Adverbial | None = None
    subordinate: Subordinate | None = None
    second: Clause | None = None
    second_first: bool = False  # in English
    coordinator: tuple[str, str, bool, bool] = ("und", "and", False, False)  # words, then whether a comma comes before
