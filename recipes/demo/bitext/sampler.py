"""Draws meanings at random: what is said, how long it gets, and which of the languages' choices are taken."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from . import lexicon
from .lexicon import Noun, Pair, Preposition, Table, Verb
from .meaning import (
    Adverbial,
    Clause,
    Modal,
    Phrase,
    Prepositional,
    Quality,
    Relative,
    Sentence,
    Subordinate,
    Tense,
)

Choice = TypeVar("Choice")

TENSES = (
    Tense(30, "present", (), "present", (), "present"),
    Tense(4, "present", (), "present", ("progressive",), "present"),
    Tense(12, "past", (), "past", (), "past"),
    Tense(22, "present", ("perfect",), "past", (), "past"),
    Tense(16, "present", ("perfect",), "present", ("perfect",), ""),
    Tense(4, "past", ("perfect",), "past", ("perfect",), ""),
    Tense(12, "present", ("future",), "present", ("future",), "future"),
)
TENSE_WEIGHTS = {tense: tense.weight for tense in TENSES}
PRESENT, PROGRESSIVE, PAST = TENSES[:3]
MODALS_PRESENT = (
    Modal("müssen", ("must",)),
    Modal("können", ("can",)),
    Modal("sollen", ("should",)),
    Modal("wollen", ("want", "to")),
    Modal("dürfen", ("may",)),
    Modal("müssen", ("have", "to")),
    Modal("können", ("be", "able", "to")),
    Modal("dürfen", ("be", "allowed", "to")),
)
MODALS_PAST = (
    Modal("müssen", ("have", "to")),
    Modal("können", ("could",)),
    Modal("wollen", ("want", "to")),
    Modal("dürfen", ("be", "allowed", "to")),
)
STATIVE = frozenset("know understand need see be remain believe trust doubt".split())
NO_SHIFT = frozenset("submit explain recommend hand communicate return deny".split())
MONEY_VERBS = frozenset("fordern brauchen finden verlieren finanzieren".split())
DEGREES = Table([Pair("sehr", (("very",),)), Pair("besonders", (("particularly",),)), Pair("ziemlich", (("rather",),))])
SINGULAR_DETERMINERS = {"def": 50, "indef": 20, "this": 10, "our": 6, "their": 5, "its": 4, "my": 2, "every": 3}
PLURAL_DETERMINERS = {
    "def": 34,
    "zero": 24,
    "many": 7,
    "some": 5,
    "several": 4,
    "all": 6,
    "this": 6,
    "our": 5,
    "number": 9,
}
SUBJECT_PRONOUNS = {"we": 6, "I": 6, "they": 3, "he": 3, "she": 2}
OBJECT_PRONOUNS = {"they": 3, "he": 2, "she": 2, "we": 2}
COORDINATORS = {
    ("und", "and", False, False): 5,
    ("und", "and", False, True): 3,
    ("aber", "but", True, True): 5,
    ("denn", "for", True, True): 1,
    (";", ";", False, False): 1,
}
PLACE_PREPOSITION = Preposition("in", "dat", ("in",))
LIST_LENGTHS = {2: 5, 3: 3, 4: 2}
FRAMES = {
    "transitive": 46,
    "intransitive": 8,
    "dative": 8,
    "prepositional": 11,
    "ditransitive": 7,
    "copula": 10,
    "existence": 4,
    "clausal": 14,
    "control": 9,
}
SIMPLE_FRAMES = {name: weight for name, weight in FRAMES.items() if name not in ("clausal", "control")}
INFINITIVE_FRAMES = {"transitive": 10, "dative": 2, "prepositional": 3, "intransitive": 1}


VERBS: dict[str, Table[Verb]] = {
    "transitive": lexicon.TRANSITIVE,
    "intransitive": lexicon.INTRANSITIVE,
    "dative": lexicon.DATIVE,
    "prepositional": lexicon.PREPOSITIONAL,
    "ditransitive": lexicon.DITRANSITIVE,
    "clausal": lexicon.CLAUSAL,
    "control": lexicon.CONTROL,
    "copula": lexicon.COPULAS,
    "existence": Table([lexicon.EXISTENCE]),
}
COMPOUND_OF = {
    lexicon.PEOPLE: lexicon.COMPOUND_PEOPLE,
    lexicon.BODIES: lexicon.COMPOUND_BODIES,
    lexicon.THINGS: lexicon.COMPOUND_THINGS,
}


class Sampler:
    """Draws one sentence after another from one stream of random numbers."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._ids = itertools.count()

    def _uid(self, kind: str) -> str:
        return f"{kind}{next(self._ids)}"

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _weighted(self, weights: Mapping[Choice, float]) -> Choice:
        point = self.rng.random() * sum(weights.values())
        for choice, weight in weights.items():
            point -= weight
            if point < 0:
                return choice
        return choice  # rounding left a speck behind the last one

    def _variant(self, choices: Sequence[Choice]) -> int:
        """The first translation mostly, the others now and then."""
        return 0 if self._chance(0.6) else self.rng.randrange(len(choices))

    # Sentences

    def sentence(self) -> Sentence:
        """One sentence: a statement, a question, or two clauses tied together."""
        self._ids = itertools.count()
        uid = self._uid("s")
        if self._chance(0.08):
            return self._question(uid)
        main = self.clause(level=0)
        result = Sentence(uid, main)
        tail = bool(main.complement or main.purpose)
        if self._chance(0.15 if tail else 0.45):
            result.subordinate = self._subordinate(main.tense)
            if result.subordinate.first_in_english:
                main.comment, main.english_front = None, ""
        elif self._chance(0.12 if tail else 0.25):
            result.second = self.clause(level=1)
            result.coordinator = self._weighted(COORDINATORS)
            result.second_first = result.coordinator[0] in ("und", ";") and self._chance(0.5)
        if self._chance(0.06):
            result.vocative = Adverbial(self._uid("v"), lexicon.VOCATIVES.draw(self.rng))
        return result

    def _question(self, uid: str) -> Sentence:
        main = self.clause(level=1)
        main.comment, main.particle, main.english_front = None, "", ""
        word = lexicon.QUESTION_WORDS.draw(self.rng) if self._chance(0.4) else None
        if word:
            main.time = main.place = None
            if word.german in ("wie", "wo"):
                main.manner = None
        elif self._chance(0.2):
            main.particle = "denn"
        return Sentence(uid, main, question=True, question_word=word)

    def _subordinate(self, tense: Tense) -> Subordinate:
        conjunction = lexicon.CONJUNCTIONS.draw(self.rng)
        inner = self.clause(level=1, tense=PRESENT if tense.time == "future" else tense)
        inner.comment = None
        first = conjunction.german != "damit" and self._chance(0.4)
        moved = conjunction.german != "damit" and self._chance(0.5)
        return Subordinate(self._uid("c"), conjunction, inner, first, first_in_english=first != moved)

    # Clauses

    def clause(self, level: int, tense: Tense | None = None) -> Clause:
        """A finite clause; deeper levels are plainer."""
        frame = self._weighted(FRAMES if level == 0 else SIMPLE_FRAMES)
        result = self._framed(frame, level, None if tense == PROGRESSIVE else tense)
        self._add_negation(result)
        self._add_adjuncts(result, level)
        self._choose_fronts(result, level)
        self._choose_freely(result, level)
        return result

    def _framed(self, frame: str, level: int, tense: Tense | None = None) -> Clause:
        result = self._bare_clause(VERBS[frame].draw(self.rng), frame, level, tense)
        if frame == "transitive":
            self._fill_transitive(result, level)
        elif frame == "dative":
            result.object = self._person_or_body(level, pronouns=0.2, object_role=True)
            result.verb = _with_case(result.verb, "dat")
        elif frame == "prepositional":
            result.governed = self._thing(level)
        elif frame == "ditransitive":
            result.object = self._thing(level + 1, generic=0.0)
            result.indirect = self._person_or_body(level + 1, pronouns=0.2, object_role=True)
            result.shifted = result.english.base not in NO_SHIFT and self._chance(0.5)
        elif frame == "copula":
            result.subject = self._thing(level) if self._chance(0.6) else result.subject
            result.quality = self._quality(lexicon.PREDICATIVE, degrees=0.3)
        elif frame == "existence":
            result.subject = Phrase(self._uid("e"), "expletive")
            result.object = self._existing(level)
        elif frame in ("clausal", "control"):
            self._add_complement(result, frame)
        return result

    def _bare_clause(self, verb: Verb, frame: str, level: int, tense: Tense | None) -> Clause:
        english = verb.english[self._variant(verb.english)]
        tense = tense or self._tense(frame, english.base)
        subject = self._person_or_body(level, pronouns=0.3)
        result = Clause(self._uid("k"), subject, verb, english, tense)
        plain = tense in (PRESENT, PAST)
        if plain and frame != "existence" and self._chance(0.3):
            result.modal = self.rng.choice(MODALS_PRESENT if tense == PRESENT else MODALS_PAST)
        return result

    def _tense(self, frame: str, base: str) -> Tense:
        tense = self._weighted(TENSE_WEIGHTS)
        dynamic = frame in ("transitive", "intransitive", "prepositional", "control") and base not in STATIVE
        return tense if tense != PROGRESSIVE or dynamic else PRESENT

    def _fill_transitive(self, result: Clause, level: int) -> None:
        result.object = self._transitive_object(result.verb, level)
        modal_of_will = result.modal is not None and result.modal.german == "wollen"
        passive = result.tense != PROGRESSIVE and result.object.kind == "noun" and not modal_of_will
        if passive and self._chance(0.16):
            result.passive = True
            agent = result.subject
            result.subject, result.object = result.object, None
            if agent.kind in ("noun", "name") and not agent.relative and self._chance(0.4):
                result.agent = agent
        elif level == 0 and self._chance(0.06):
            result.purpose = self._infinitive(result.subject)

    def _transitive_object(self, verb: Verb, level: int) -> Phrase:
        if verb.infinitive in MONEY_VERBS and not verb.prefix and self._chance(0.2):
            number = f"{self.rng.randrange(1, 90)}"
            tenth = f"{self.rng.randrange(1, 10)}"
            numeral = (f"{number},{tenth}", f"{number}.{tenth}") if self._chance(0.5) else (number, number)
            return Phrase(self._uid("n"), "amount", plural=True, numeral=numeral)
        if self._chance(0.06):
            return self._pronoun(OBJECT_PRONOUNS)
        if self._chance(0.14):
            return self._person_or_body(level + 1, pronouns=0.0)
        return self._thing(level)

    def _add_complement(self, result: Clause, frame: str) -> None:
        if frame == "control":
            result.complement_kind = "infinitive"
            result.complement = self._infinitive(result.subject)
            return
        result.complement_kind = "that" if self._chance(0.75) else "bare-that"
        result.complement = self.clause(level=1)
        result.complement.comment = None
        result.complement.english_front = ""

    def _infinitive(self, subject: Phrase) -> Clause:
        result = self._framed(self._weighted(INFINITIVE_FRAMES), level=1)
        while result.passive:
            result = self._framed(self._weighted(INFINITIVE_FRAMES), level=1)
        result.subject, result.modal, result.tense, result.purpose = subject, None, PRESENT, None
        if self._chance(0.25):
            result.manner = Adverbial(self._uid("m"), lexicon.MANNERS.draw(self.rng))
        return result

    def _add_negation(self, result: Clause) -> None:
        if not self._chance(0.15):
            return
        target = result.object
        if target is None or target.kind != "noun":
            result.negation = "nicht"
        elif target.determiner in ("indef", "zero") and not target.numeral and not target.joined:
            target.determiner = "no"
            result.negation = "kein-not" if self._chance(0.5) else "kein-no"
        elif target.determiner in ("def", "this", "our", "their", "its", "generic"):
            result.negation = "nicht"

    def _add_adjuncts(self, result: Clause, level: int) -> None:
        weight = 1.2 if level == 0 else 0.8
        if result.tense.time and self._chance(0.32 * weight):
            result.time = Adverbial(self._uid("t"), self._time(result.tense.time))
        if level == 0 and self._chance(0.16):
            result.comment = Adverbial(self._uid("a"), lexicon.COMMENTS.draw(self.rng))
        if (
            not result.negation
            and not result.quality
            and result.subject.kind != "expletive"
            and self._chance(0.2 * weight)
        ):
            result.manner = Adverbial(self._uid("m"), lexicon.MANNERS.draw(self.rng))
        if self._chance(0.2 * weight):
            result.place = self._place(level)
        if level == 0 and not result.passive and self._chance(0.18):
            result.particle = lexicon.PARTICLES.draw(self.rng)
        if level < 2 and self._chance(0.1):
            result.filler = lexicon.FILLERS.draw(self.rng)

    def _choose_fronts(self, result: Clause, level: int) -> None:
        options = {"subject": 10.0}
        options |= {name: 8.0 for name in ("comment", "time", "place") if getattr(result, name)}
        if self._topic(result.object):
            options["object"] = 6.0
        result.german_front = self._weighted(options) if level == 0 else "subject"
        moved = result.object if result.german_front != "object" else None
        for phrase in (moved, result.governed):
            if phrase and phrase.relative and self._chance(0.6):
                phrase.relative.extraposed = True

    def _choose_freely(self, result: Clause, level: int) -> None:
        """Where translators differ: voice, and where adverbials stand."""
        result.late_time = result.german_front != "time" and self._chance(0.5)
        result.time_before_place = self._chance(0.5)
        if result.comment:
            short = len(result.comment.expression.english) == 1
            result.english_comment = self.rng.choice(("front", "end", "middle") if short else ("front", "end"))
        if level == 0 and not (result.comment and result.english_comment == "front"):
            fronts = ["", *(name for name in ("time", "place") if getattr(result, name))]
            result.english_front = self.rng.choice(fronts)
        result.recast = self._recastable(result) and self._chance(0.5 if result.passive else 0.4)

    @staticmethod
    def _recastable(result: Clause) -> bool:
        if result.passive:
            return result.agent is not None and not result.agent.relative
        if result.object is None or result.object.kind != "noun" or result.negation.startswith("kein"):
            return False
        simple = result.verb.case != "dat" and result.modal is None and result.tense != PROGRESSIVE
        bare = not (result.indirect or result.governed or result.complement or result.purpose)
        return simple and bare and result.subject.kind in ("noun", "name") and not result.subject.relative

    @staticmethod
    def _topic(phrase: Phrase | None) -> bool:
        """Whether an object may open a sentence: only where its form shows that it is no subject."""
        if phrase is None or phrase.kind != "noun" or phrase.plural or phrase.noun is None or phrase.joined:
            return False
        return phrase.noun.gender == "m" and phrase.determiner in ("def", "this", "our")

    # Phrases

    def _person_or_body(self, level: int, pronouns: float, object_role: bool = False) -> Phrase:
        if self._chance(pronouns):
            return self._pronoun(OBJECT_PRONOUNS if object_role else SUBJECT_PRONOUNS)
        if self._chance(0.16):
            return self._listing(self._name(), 0.3 if level < 2 else 0.0, self._name)
        if not object_role and self._chance(0.03):
            noun = lexicon.PEOPLE.draw(self.rng)
            number = f"{self.rng.randrange(2, 99)}"
            phrase = Phrase(self._uid("n"), "amount", noun=noun, plural=True, numeral=(number, number))
            phrase.choice = self._variant(noun.english)
            return phrase
        table = lexicon.PEOPLE if self._chance(0.5) else lexicon.BODIES
        chance = 0.2 if level < 2 else 0.0
        return self._listing(self._noun_phrase(table, level), chance, functools.partial(self._noun_phrase, table, 2))

    def _listing(self, phrase: Phrase, chance: float, more: Callable[[], Phrase]) -> Phrase:
        """The phrase, or with this chance a list that it begins."""
        if self._chance(chance):
            phrase.joined = [more() for _ in range(self._weighted(LIST_LENGTHS) - 1)]
            phrase.swapped = self._chance(0.5 if len(phrase.joined) == 1 else 0.2)
            phrase.relative = None
        return phrase

    def _thing(self, level: int, generic: float = 0.16) -> Phrase:
        if self._chance(generic):
            noun = lexicon.GENERIC.draw(self.rng)
            return Phrase(self._uid("n"), "noun", noun=noun, determiner="generic", choice=self._variant(noun.english))
        chance = 0.25 if level < 2 else 0.0
        more = functools.partial(self._noun_phrase, lexicon.THINGS, 2)
        return self._listing(self._noun_phrase(lexicon.THINGS, level), chance, more)

    def _existing(self, level: int) -> Phrase:
        phrase = self._thing(level, generic=0.0)
        phrase.joined = []
        phrase.determiner = "zero" if phrase.plural else "indef"
        phrase.genitive = None
        return phrase

    def _noun_phrase(self, table: Table[Noun], level: int) -> Phrase:
        compound = self._chance(0.28 if table is lexicon.THINGS else 0.12)
        noun = (COMPOUND_OF[table] if compound else table).draw(self.rng)
        phrase = Phrase(
            self._uid("n"), "noun", noun=noun, plural=self._chance(0.35), choice=self._variant(noun.english)
        )
        phrase.modifier = lexicon.MODIFIERS.draw(self.rng) if compound else None
        phrase.determiner = self._weighted(PLURAL_DETERMINERS if phrase.plural else SINGULAR_DETERMINERS)
        if phrase.determiner == "number":
            phrase.determiner, phrase.numeral = "zero", self._numeral()
        adjectives = lexicon.PERSONAL if noun.person else lexicon.ADJECTIVES
        if self._chance(0.36):
            phrase.qualities.append(self._quality(adjectives))
        self._add_postmodifier(phrase, level)
        return phrase

    def _add_postmodifier(self, phrase: Phrase, level: int) -> None:
        if level >= 2:
            return
        roll = self.rng.random()
        if roll < 0.24:
            self._add_genitive(phrase)
        elif roll < 0.36:
            phrase.attribute = self._prepositional(lexicon.ATTRIBUTIVE)
        elif roll < 0.48 and level == 0:
            phrase.relative = self._relative(phrase)

    def _add_genitive(self, phrase: Phrase) -> None:
        if self._chance(0.2):
            place = lexicon.PLACES.draw(self.rng)
            phrase.genitive = Phrase(self._uid("n"), "place", name=(place,))
        elif self._chance(0.2):
            noun = lexicon.GENERIC.draw(self.rng)
            phrase.genitive = Phrase(self._uid("n"), "noun", noun=noun, determiner="generic")
        else:
            phrase.genitive = self._noun_phrase(lexicon.BODIES if self._chance(0.6) else lexicon.PEOPLE, level=2)
            phrase.genitive.numeral = None
            phrase.genitive.determiner = self.rng.choice(("def", "def", "def", "this", "our"))
        owner = phrase.genitive
        definite = phrase.determiner == "def" and not phrase.numeral
        phrase.possessive = definite and not owner.plural and owner.determiner != "generic" and self._chance(0.5)

    def _relative(self, phrase: Phrase) -> Relative:
        role = "subject" if self._chance(0.6) else "object"
        frame = "intransitive" if role == "subject" and self._chance(0.2) else "transitive"
        inner = self._framed(frame, level=2)
        while inner.passive:
            inner = self._framed(frame, level=2)
        inner.gap = role
        if role == "subject":
            inner.subject = phrase
        else:
            inner.object = phrase
        if role == "subject" and inner.tense.time and self._chance(0.15):
            inner.time = Adverbial(self._uid("t"), self._time(inner.tense.time))
        relative = Relative(self._uid("r"), inner, role, extraposed=False)
        relative.commas = self._chance(0.3)
        relative.bare = role == "object" and not relative.commas and self._chance(0.4)
        return relative

    def _prepositional(self, table: Table[Preposition]) -> Prepositional:
        preposition = table.draw(self.rng)
        if preposition.german in lexicon.TEMPORAL:
            noun = lexicon.EVENTS.draw(self.rng)
            determiner = self.rng.choice(("def", "def", "this", "our"))
            phrase = Phrase(self._uid("n"), "noun", noun=noun, determiner=determiner)
        else:
            phrase = self._thing(2) if self._chance(0.7) else self._noun_phrase(lexicon.BODIES, level=2)
        if preposition.case == "gen" and phrase.determiner in ("zero", "many", "some", "several"):
            phrase.determiner, phrase.numeral = "def", None
        return Prepositional(self._uid("p"), preposition, phrase)

    def _place(self, level: int) -> Prepositional:
        if self._chance(0.55):
            place = Phrase(self._uid("n"), "place", name=(lexicon.PLACES.draw(self.rng),))
            return Prepositional(self._uid("p"), PLACE_PREPOSITION, place)
        return self._prepositional(lexicon.PREPOSITIONS)

    def _pronoun(self, weights: dict[str, int]) -> Phrase:
        return Phrase(self._uid("n"), "pronoun", pronoun=self._weighted(weights))

    def _name(self) -> Phrase:
        name = lexicon.NAMES.draw(self.rng)
        last = Pair(name, ((name,),))
        if self._chance(0.5):
            title = self.rng.choice((Pair("Herr", (("Mr",),)), Pair("Frau", (("Mrs",),))))
            return Phrase(self._uid("n"), "name", name=(title, last))
        first = lexicon.FIRST_NAMES.draw(self.rng)
        return Phrase(self._uid("n"), "name", name=(Pair(first, ((first,),)), last))

    def _quality(self, table: Table[Pair], degrees: float = 0.08) -> Quality:
        pair = table.draw(self.rng)
        quality = Quality(self._uid("q"), pair.german, pair.english[self._variant(pair.english)])
        if pair.german in lexicon.COMPARABLE and self._chance(0.15):
            quality.comparative = True
        elif self._chance(degrees) and pair.german in lexicon.COMPARABLE:
            quality.degree = DEGREES.draw(self.rng)
        return quality

    def _numeral(self) -> tuple[str, str]:
        roll = self.rng.random()
        if roll < 0.6:
            pair = lexicon.NUMBER_WORDS.draw(self.rng)
            return pair.german, pair.english[0][0]
        if roll < 0.85:
            number = str(self.rng.randrange(13, 1000))
            return number, number
        thousands, rest = self.rng.randrange(1, 100), self.rng.randrange(0, 10) * 100
        return f"{thousands}.{rest:03}", f"{thousands},{rest:03}"

    def _time(self, when: str) -> lexicon.Expression:
        if when == "present" or self._chance(0.6):
            return lexicon.TIMES[when].draw(self.rng)
        roll = self.rng.random()
        year = self.rng.randrange(1950, 2016) if when == "past" else self.rng.randrange(2017, 2050)
        if roll < 0.35:
            return lexicon.parse_expression(f"im/1 Jahr/?2 {year}/2 = in/1 {year}/2")
        if roll < 0.65:
            day = lexicon.WEEKDAYS.draw(self.rng)
            return lexicon.parse_expression(f"am/1 {day.german}/2 = on/1 {day.english[0][0]}/2")
        number, month = self.rng.randrange(1, 29), lexicon.MONTHS.draw(self.rng)
        return lexicon.parse_expression(f"am/1 {number}./2 {month.german}/3 = on/1 {number}/2 {month.english[0][0]}/3")


def _with_case(verb: Verb, case: str) -> Verb:
    return Verb(**{**vars(verb), "case": case})
