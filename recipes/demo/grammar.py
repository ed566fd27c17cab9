"""A grammar that says the same thing in German and in English, and knows which words say it.

Each part of a sentence is drawn once and written in both languages. Every word carries the concepts it expresses; two
words that share one are a sure link. A word without a partner (an article that English omits) leans on the concept of
another word, which makes a possible link; a modal particle has none. The orders of the two languages are drawn
independently of each other, as free translations are.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

Link = tuple[int, int]
CASES = ("nom", "acc", "dat", "gen")
STICK_LEFT = frozenset(".,?!;") | {"'s"}


class Word(NamedTuple):
    """A word as the Moses tokenizer leaves it, the concepts it expresses, and those it leans on."""

    text: str
    concepts: frozenset[int] = frozenset()
    leans: frozenset[int] = frozenset()


Words = list[Word]


def say(text: str, *concepts: int, leans: Iterable[int] = ()) -> Words:
    """The words of ``text``, all of which express the same concepts."""
    return [Word(word, frozenset(concepts), frozenset(leans)) for word in text.replace("_", " ").split()]


@dataclass
class Phrase:
    """A noun phrase: German by case, English as subject and elsewhere."""

    german: dict[str, Words]
    english: Words
    english_object: Words
    plural: bool = False
    is_pronoun: bool = False
    shows_genitive: bool = True
    """Whether its German words show that it is in the genitive."""


@dataclass
class Clause:
    """A clause in both languages, its parts in order but for what may stand in front."""

    front: list[Words]
    """German phrases of which one opens a main clause, the subject first."""
    finite: Words
    middle: list[Words]
    """The German parts between the brackets, without the subject."""
    closing: Words
    """The German verbs, or the separable prefix, at the end."""
    behind: Words
    """A clause behind the verbs."""
    english_front: Words
    english: Words
    english_question: Words
    has_prefix: bool
    """Whether ``closing`` is the prefix of the finite verb."""

    def main(self, front: int) -> Words:
        """German with the verb second; ``front`` says which phrase comes first."""
        others = [phrase for place, phrase in enumerate(self.front) if place != front]
        return [*self.front[front], *self.finite, *join(others), *join(self.middle), *self.closing, *self.behind]

    def final(self) -> Words:
        """German with the verb at the end, a separable prefix joined to it."""
        verbs = [*self.closing, *self.finite]
        if self.has_prefix:
            verbs = [self.finite[0]._replace(text=self.closing[0].text + self.finite[0].text)]
        return [*join(self.front), *join(self.middle), *verbs, *self.behind]

    def question(self) -> Words:
        """German with the verb first."""
        return [*self.finite, *join(self.front), *join(self.middle), *self.closing, *self.behind]


@dataclass
class Sentence:
    """Both sides, and the names of what makes the pair hard to align."""

    german: Words
    english: Words
    phenomena: set[str] = field(default_factory=set)

    def text(self, language: str) -> str:
        """One side as it is written."""
        words = [word.text for word in (self.german if language == "de" else self.english)]
        text = "".join(word if word in STICK_LEFT else f" {word}" for word in words).strip()
        return text[0].upper() + text[1:]

    def links(self) -> tuple[set[Link], set[Link]]:
        """The sure links and all possible ones, (German, English), 0-based."""
        pairs = list(itertools.product(enumerate(self.german), enumerate(self.english)))
        sure = {(i, j) for (i, de), (j, en) in pairs if de.concepts & en.concepts}
        linked = {i for i, _ in sure}, {j for _, j in sure}
        possible = set(sure)
        for (i, de), (j, en) in pairs:
            de_leans, en_leans = de.leans if i not in linked[0] else set(), en.leans if j not in linked[1] else set()
            if de_leans & en.concepts or en_leans & de.concepts or de_leans & en_leans:
                possible.add((i, j))
        return sure, possible


def join(parts: Sequence[Words]) -> Words:
    """One list of words."""
    return list(itertools.chain.from_iterable(parts))


def articles(words: Words) -> Words:
    """English "a" becomes "an" before a vowel."""
    vowels, exceptions = tuple("aeiou"), ("eu", "uni", "use", "un ")
    after = [*words[1:], Word("")]
    made = []
    for word, following in zip(words, after, strict=True):
        sound = following.text.lower()
        is_an = word.text == "a" and sound.startswith(vowels) and not sound.startswith(exceptions)
        made.append(word._replace(text="an") if is_an else word)
    return made


def in_commas(words: Words, concept: int) -> Words:
    """A clause between commas that both languages have."""
    return [*say(",", concept), *words, *say(",", concept)]


def tidy(words: Words, end: str, concept: int) -> Words:
    """Commas that meet become one, none stands at an edge; the final mark comes last."""
    kept: Words = []
    for word in words:
        if word.text == "," and (not kept or kept[-1].text == ","):
            if kept:
                kept[-1] = Word(",", kept[-1].concepts | word.concepts)
            continue
        kept.append(word)
    if kept[-1].text == ",":
        kept.pop()
    return [*kept, *say(end, concept)]


# -- words ------------------------------------------------------------------------------------------------------------


def read_words(path: Path) -> dict[str, list[str]]:
    """Section -> its lines, of words.txt."""
    sections: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections


WORDS = read_words(Path(__file__).with_name("words.txt"))


def table(name: str) -> list[str]:
    """The single words of a section."""
    return " ".join(WORDS[name]).split()


NOUNS = {line.split()[0]: line for name in ("people", "bodies", "things", "generic") for line in WORDS[name]}
ARTICLES = dict(zip(CASES, ["der die das die", "den die das die", "dem der dem den", "des der des der"], strict=True))
STRONG = dict(zip(CASES, ["er e es e", "en e es e", "em er em en", "es er es er"], strict=True))
WEAK = dict(zip(CASES, ["e e e en", "en e e en", "en en en en", "en en en en"], strict=True))
MIXED = dict(zip(CASES, ["er e es en", "en e es en", "en en en en", "en en en en"], strict=True))
DETERMINERS = {  # German stem, English singular and plural, how often with a singular and with a plural
    "the": ("", "the", "the", 50, 34),
    "a": ("ein", "a", "", 20, 0),
    "bare": ("", "", "", 0, 24),
    "this": ("dies", "this", "these", 10, 6),
    "every": ("jed", "every", "", 3, 0),
    "all": ("all", "", "all", 0, 6),
    "many": ("viel", "", "many", 0, 7),
    "some": ("einig", "", "some", 0, 5),
    "several": ("mehrer", "", "several", 0, 4),
    "our": ("unser", "our", "our", 6, 5),
    "their": ("ihr", "their", "their", 5, 5),
    "number": ("", "", "", 0, 9),
    "no": ("kein", "no", "no", 0, 0),
}
PREDICATIVE = [line for line in WORDS["adjectives"] if line.split()[0] in table("predicative")]
EIN_WORDS = frozenset(["a", "our", "their", "no"])
CONTRACTED = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "bei dem": "beim", "von dem": "vom"}
PRONOUNS = {  # German nominative, accusative, dative; English; plural; how often
    "we": ("wir uns uns", "we us", True, 6),
    "they": ("sie sie ihnen", "they them", True, 4),
    "he": ("er ihn ihm", "he him", False, 3),
    "she": ("sie sie ihr", "she her", False, 2),
}
TENSES = [  # how often, German, English, the times that go with it
    (34, "present", "present", "present times"),
    (12, "past", "past", "past times"),
    (22, "perfect", "past", "past times"),
    (16, "perfect", "perfect", ""),
    (4, "past perfect", "past perfect", ""),
    (12, "future", "future", "future times"),
]
MODALS = [
    ("müssen muss musste", "must"),
    ("können kann konnte", "can"),
    ("sollen soll sollte", "should"),
    ("wollen will wollte", "want to"),
    ("können kann konnte", "be able to"),
    ("dürfen darf durfte", "be allowed to"),
]
FRAMES = {
    "transitive": 46,
    "intransitive": 8,
    "dative": 8,
    "prepositional": 11,
    "ditransitive": 7,
    "copula": 10,
    "clausal": 6,
    "control": 4,
}


def english_plural(word: str) -> str:
    """The regular plural of an English noun."""
    if word.endswith(("s", "x", "ch", "sh", "z")):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeiou" else word + "s"


def english_past(base: str) -> str:
    """The regular past of an English verb."""
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if base.endswith("y") and base[-2] not in "aeiou" else base + "ed"


def genitive_ending(lemma: str) -> str:
    """What a German masculine or neuter noun takes in the genitive."""
    if lemma == "Fonds" or lemma.endswith("ismus"):
        return ""
    if lemma.endswith("nis"):
        return "ses"
    is_short = len(re.findall("[aeiouyäöü]+", lemma.lower())) == 1
    return "es" if is_short or lemma.endswith(("s", "ß", "x", "z")) else "s"


@dataclass
class Verb:
    """The forms of a verb in both languages."""

    infinitive: str
    third: str
    past: str
    participle: str
    with_sein: bool
    prefix: str
    fixed: str
    reflexive: bool
    preposition: str
    case: str
    base: str
    english_past: str
    english_participle: str
    rest: str

    @classmethod
    def parse(cls, line: str, chance: random.Random) -> Verb:
        """A line such as ``ab|lehnen lehnt lehnte abgelehnt | reject``, with one of its translations."""
        german, english = line.split(" | ")
        parts = german.split()
        reflexive = parts[0] == "sich" and bool(parts.pop(0))
        fixed = parts.pop(0)[1:] if parts[0].startswith("+") else ""
        lemma, third, past, participle, *governed = parts
        prefix, _, infinitive = lemma.rpartition("|")
        preposition, _, case = governed[0].partition(":") if governed else ("", "", "")
        words = chance.choice(english.split("/")).split()
        base, *forms = words[0].split(":")
        forms = forms or [english_past(base)] * 2
        stem = participle.rstrip("*")
        return cls(infinitive, third, past, stem, stem != participle, prefix, fixed, reflexive, preposition, case,
                   base, forms[0], forms[1], " ".join(words[1:]))  # fmt: skip


HABEN, SEIN, WERDEN = ("haben", "hat", "hatte"), ("sein", "ist", "war"), ("werden", "wird", "wurde")


def finite(forms: Sequence[str], is_past: bool, plural: bool) -> str:
    """A German finite form out of infinitive, third person and past."""
    if is_past:
        return forms[2] + (("n" if forms[2].endswith("e") else "en") if plural else "")
    return ("sind" if forms[0] == "sein" else forms[0]) if plural else forms[1]


def english_finite(base: str, past: str, is_past: bool, plural: bool) -> str:
    """An English finite form."""
    if base == "be":
        return ("were" if plural else "was") if is_past else "are" if plural else "is"
    if is_past or plural:
        return past if is_past else base
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "ch", "sh", "o")):
        return base + "es"
    return base[:-1] + "ies" if base.endswith("y") and base[-2] not in "aeiou" else base + "s"


# -- the grammar ------------------------------------------------------------------------------------------------------


class Grammar:
    """Draws sentence pairs; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.concepts = itertools.count()
        self.found: set[str] = set()

    def sentence(self) -> Sentence:
        """One pair."""
        self.found = set()
        end, mark = next(self.concepts), "."
        clause = self.clause(0)
        roll = self.chance.random()
        if roll < 0.08:
            mark = "?"
            self.found.add("question")
            german, english = clause.question(), clause.english_question
            if self.maybe(0.6):
                asked = next(self.concepts)
                german_word, english_word = self.pick(WORDS["question words"]).split()
                german, english = [*say(german_word, asked), *german], [*say(english_word, asked), *english]
        else:
            german = clause.main(self.which_front(clause))
            english = [*clause.english_front, *clause.english]
        if 0.08 <= roll < 0.26:
            german, english = self.with_subordinate(clause, german, english)
        elif 0.26 <= roll < 0.4:
            other = self.clause(1)
            conjunction = next(self.concepts)
            sides = [german, other.main(self.which_front(other))], [english, [*other.english_front, *other.english]]
            word = self.pick(["und and", "und and", "aber but"]).split()
            if word[0] == "und" and self.maybe(0.5):
                self.found.add("clauses in another order")
                sides[1].reverse()
            german = [
                *sides[0][0],
                *say("," if word[0] == "aber" else "", conjunction),
                *say(word[0], conjunction),
                *sides[0][1],
            ]
            english = [*sides[1][0], *say(f", {word[1]}", conjunction), *sides[1][1]]
        if self.maybe(0.05):
            self.found.add("vocative")
            called = self.expression(self.pick(WORDS["vocatives"]))
            comma = next(self.concepts)
            german, english = [*called[0], *say(",", comma), *german], [*called[1], *say(",", comma), *english]
        return Sentence(tidy(german, mark, end), tidy(articles(english), mark, end), self.found)

    def with_subordinate(self, clause: Clause, german: Words, english: Words) -> tuple[Words, Words]:
        """A main clause with one that depends on it; each language puts it first or last."""
        self.found.add("verb-final clause")
        inner, conjunction, comma = self.clause(1), next(self.concepts), next(self.concepts)
        words = self.pick(WORDS["conjunctions"]).split()
        german_inner = [*say(words[0], conjunction), *inner.final()]
        english_inner = [*say(words[1], conjunction), *inner.english_front, *inner.english]
        first = self.maybe(0.5), self.maybe(0.5)
        if first[0] != first[1]:
            self.found.add("clauses in another order")
        if first[0]:
            german = [*german_inner, *say(",", comma), *clause.question()]
        else:
            german = [*german, *say(",", comma), *german_inner]
        if first[1]:
            return german, [*english_inner, *say(",", comma), *english]
        return german, [*english, *say("", comma), *english_inner]

    def which_front(self, clause: Clause) -> int:
        """Mostly the subject opens a main clause."""
        if len(clause.front) == 1 or self.maybe(0.5):
            return 0
        self.found.add("adverbial first")
        return self.chance.randrange(1, len(clause.front))

    def maybe(self, probability: float) -> bool:
        return self.chance.random() < probability

    def pick(self, lines: Sequence[str]) -> str:
        """A line; those in front come more often, as common words do."""
        return self.chance.choices(lines, [1 / (place + 1) for place in range(len(lines))])[0]

    def expression(self, line: str) -> tuple[Words, Words]:
        """Both sides of a line such as ``letztes/1 Jahr/2 = last/1 year/2``."""
        numbers: dict[str, int] = {}

        def side(text: str) -> Words:
            words = []
            for item in text.split():
                word, _, marks = item.partition("/")
                own, _, leant = marks.partition("?")
                groups = [[numbers.setdefault(mark, next(self.concepts)) for mark in part] for part in (own, leant)]
                words += say(word, *groups[0], leans=groups[1])
            return words

        german, english = line.split(" = ")
        return side(german), side(english)

    # Noun phrases

    def phrase(self, kinds: Sequence[str], level: int) -> Phrase:
        """A noun with what belongs to it, a pronoun, a name, or a list of such phrases."""
        first = self.single(kinds, level)
        kinds = [kind for kind in kinds if kind != "pronoun"]
        if first.is_pronoun or level >= 2 or not self.maybe(0.14):
            return first
        items = [first, *(self.single(kinds, 2) for _ in range(self.chance.choice((1, 1, 1, 2, 2, 3))))]
        self.found.add("list")
        conjunction, commas = next(self.concepts), [next(self.concepts) for _ in items]
        turned = items[::-1] if self.maybe(0.4) else items
        if turned is not items:
            self.found.add("list in another order")

        def listed(sides: list[Words], word: str) -> Words:
            made = list(sides[0])
            for number, side in enumerate(sides[1:], start=1):
                last = number == len(sides) - 1
                made += [*(say(word, conjunction) if last else say(",", commas[number])), *side]
            return made

        german = {case: listed([item.german[case] for item in items], "und") for case in CASES}
        english = [listed([getattr(item, side) for item in turned], "and") for side in ("english", "english_object")]
        return Phrase(german, english[0], english[1], plural=True)

    def single(self, kinds: Sequence[str], level: int) -> Phrase:
        kind = self.chance.choice(list(kinds))
        if kind == "pronoun":
            forms, english, plural, _ = self.chance.choices(
                list(PRONOUNS.values()), [row[3] for row in PRONOUNS.values()]
            )[0]
            concept, nominative = next(self.concepts), english.split()
            german = dict(zip(CASES, [say(form, concept) for form in [*forms.split(), "deren"]], strict=True))
            return Phrase(german, say(nominative[0], concept), say(nominative[1], concept), plural, is_pronoun=True)
        if kind == "name":
            self.found.add("name")
            first, last = next(self.concepts), next(self.concepts)
            given = self.pick(table("first names"))
            given, english = self.chance.choice([("Herr", "Mr"), ("Frau", "Mrs"), (given, given)])
            surname = self.pick(table("names"))
            german = {
                case: say("Herrn" if given == "Herr" and case != "nom" else given, first)
                + say(surname + ("s" if case == "gen" and not surname.endswith("s") else ""), last)
                for case in CASES
            }
            words = [*say(english, first), *say(surname, last)]
            return Phrase(german, words, words)
        return self.noun(kind, level)

    def noun(self, kind: str, level: int, *, no: int | None = None) -> Phrase:
        """A determiner, a number, an adjective, a noun (perhaps a compound), and what follows it; ``no`` denies it."""
        head, chance = next(self.concepts), self.chance
        german, english = self.pick(WORDS[kind]).split(" | ")
        lemma, gender, german_plural = german.split()
        modifier = self.pick(WORDS["modifiers"]) if kind in ("things", "bodies") and self.maybe(0.24) else ""
        if modifier:
            self.found.add("compound")
            line = NOUNS.get(self.pick(table("compound heads")), "")
            german, english = (line or f"{lemma} {gender} {german_plural} | {english}").split(" | ")
            lemma, gender, german_plural = german.split()
        plural = kind != "generic" and german_plural != "-" and self.maybe(0.35)
        weights = [row[4 if plural else 3] for row in DETERMINERS.values()]
        determiner = "no" if no is not None else chance.choices(list(DETERMINERS), weights)[0]
        if kind == "generic":
            determiner = "the"
        column = 3 if plural else "mfn".index(gender[0])

        word = chance.choice(english.split("/"))
        singular, _, irregular = word.partition(":")
        *firsts, last = singular.split("_")
        english_noun = " ".join([*firsts, (irregular or english_plural(last)) if plural else last])
        concepts, english_words = [head], say(english_noun, head)
        if len(english_words) > 1:
            self.found.add("one to many")
        if modifier:
            of_modifier = next(self.concepts)
            concepts.append(of_modifier)
            english_words = [*say(modifier.split()[1], of_modifier), *english_words]

        stem, *english_forms = DETERMINERS[determiner][:3]
        chosen, front = next(self.concepts) if no is None else no, []
        english_determiner = "" if kind == "generic" else english_forms[plural]
        if kind == "generic":
            self.found.add("article without counterpart")
        before: Words = []
        if determiner == "number":
            self.found.add("number")
            value = str(chance.randrange(13, 1000))
            number = chance.choice([self.pick(WORDS["number words"]).split(), [value, value]])
            counted = next(self.concepts)
            before, front = say(number[0], counted), say(number[1], counted)
        adjective = self.pick(WORDS["adjectives"]) if self.maybe(0.36) and kind != "generic" else ""
        quality = next(self.concepts)
        if adjective:
            front = [*front, *say(chance.choice(adjective.split()[1].split("/")), quality)]
        english_side = [*say(english_determiner, chosen, leans=[head]), *front, *english_words]

        german_side: dict[str, Words] = {}
        for case in CASES:
            if determiner in ("bare", "number"):
                article, endings = "", STRONG
            elif not stem:
                article, endings = ARTICLES[case].split()[column], WEAK
            elif determiner in EIN_WORDS:
                bare = (case, column) in (("nom", 0), ("nom", 2), ("acc", 2))
                article, endings = stem + ("" if bare else STRONG[case].split()[column]), MIXED
            else:
                is_vague = determiner in ("many", "some", "several")
                article, endings = stem + STRONG[case].split()[column], STRONG if is_vague else WEAK
            if plural:
                form = german_plural + ("n" if case == "dat" and not german_plural.endswith(("n", "s")) else "")
            elif gender.endswith("w") and case != "nom":
                form = german_plural
            else:
                form = lemma + (genitive_ending(lemma) if case == "gen" and gender[0] != "f" else "")
            if modifier:
                prefix = modifier.split()[0]
                form = prefix + (form if prefix.endswith("-") else form.lower())
            described: Words = []
            if adjective:
                root = {"hoch": "hoh", "teuer": "teur"}.get(adjective.split()[0], adjective.split()[0])
                described = say(root + endings[case].split()[column], quality)
            german_side[case] = [*say(article, chosen, leans=[head]), *before, *described, *say(form, *concepts)]

        if level < 2 and kind != "generic":
            self.add_behind(german_side, english_side, column, level)
        return Phrase(
            german_side, english_side, english_side, plural, shows_genitive=determiner not in ("bare", "number")
        )

    def add_behind(self, german: dict[str, Words], english: Words, column: int, level: int) -> None:
        """A genitive, a prepositional phrase or a relative clause, in place."""
        roll = self.chance.random()
        if roll < 0.22:
            owner = self.noun(self.chance.choice(["bodies", "people", "generic"]), 2)
            if not owner.shows_genitive:
                return
            behind, words = owner.german["gen"], [*say("of", leans=owner.german["gen"][-1].concepts), *owner.english]
        elif roll < 0.32:
            behind, words = self.prepositional("attributive")
        elif roll < 0.44 and level == 0:
            self.found.add("relative clause")
            relative, comma = next(self.concepts), next(self.concepts)
            inner = self.clause(2, gap=True, plural=column == 3)
            pronoun = say(ARTICLES["nom"].split()[column], relative)
            behind = in_commas([*pronoun, *inner.final()], comma)
            words = in_commas([*say("who" if self.maybe(0.3) else "which", relative), *inner.english], comma)
        else:
            return
        for case in CASES:
            german[case] = [*german[case], *behind]
        english += words

    def prepositional(self, section: str = "prepositions") -> tuple[Words, Words]:
        """A preposition and its phrase, contracted where German does so."""
        if section == "prepositions" and self.maybe(0.4):
            self.found.add("name")
            preposition, place = next(self.concepts), next(self.concepts)
            german, english = self.pick(WORDS["places"]).split()
            return [*say("in", preposition), *say(german, place)], [*say("in", preposition), *say(english, place)]
        lines = WORDS["prepositions"]
        if section == "attributive":
            allowed = set(table("attributive"))
            lines = [line for line in lines if line.split()[0] in allowed]
        german, case, english = self.pick(lines).split()
        concept, phrase = next(self.concepts), self.noun(self.chance.choice(["things", "generic", "bodies"]), 2)
        if case == "gen" and not phrase.shows_genitive:
            case = "dat"
        return attach(german, concept, phrase.german[case]), [*say(english, concept), *phrase.english_object]

    # Clauses

    def clause(self, level: int, *, gap: bool = False, plural: bool = False) -> Clause:
        """A verb with its arguments and adjuncts; with ``gap`` its subject is a relative pronoun."""
        chance, number = self.chance, next(self.concepts)
        frames = {name: often for name, often in FRAMES.items() if level < 2 or name not in ("clausal", "control")}
        frame = chance.choices(list(frames), list(frames.values()))[0]
        verb = Verb.parse(self.pick(WORDS["copulas" if frame == "copula" else frame]), chance)
        _, german_tense, english_tense, times = chance.choices(TENSES, [row[0] for row in TENSES])[0]
        modal = chance.choice(MODALS) if german_tense in ("present", "past") and self.maybe(0.18) else None
        negation = next(self.concepts) if self.maybe(0.14) else None
        kein = negation is not None and frame == "transitive" and self.maybe(0.4)
        nobody: dict[str, Words] = {case: [] for case in CASES}
        subject = Phrase(nobody, [], [], plural) if gap else self.phrase(["pronoun", "name", "people", "bodies"], level)
        ids = {name: next(self.concepts) for name in ("verb", "auxiliary", "modal", "passive", "by")}

        # what the verb governs
        patient, given, predicate = None, ([], []), ([], [])
        if frame in ("transitive", "dative", "prepositional", "ditransitive"):
            people = frame == "dative" or (frame == "transitive" and self.maybe(0.15))
            kinds = ["people", "bodies", "name", "pronoun"] if people else ["things", "things", "generic", "bodies"]
            patient = self.noun("things", level, no=negation) if kein else self.phrase(kinds, level)
        if frame == "ditransitive":
            receiver = self.phrase(["people", "bodies", "name"], 2)
            given = receiver.german["dat"], [*say("to", leans=[ids["verb"]]), *receiver.english_object]
        if frame == "copula":
            german, english = chance.choice(PREDICATIVE).split()
            predicate = say(german, ids["by"]), say(english.split("/")[0], ids["by"])
        behind = self.complement(frame, ids["verb"])
        adjuncts = self.adjuncts(times, level)

        # each language has its own voice
        turns = frame == "transitive" and not (gap or kein or modal)
        passive = turns and self.maybe(0.12), turns and self.maybe(0.3)
        hard = {"passive": any(passive), "other voice": passive[0] != passive[1], "modal": modal is not None}

        # German: the middle field in its usual order; up to three phrases of it may open a main clause
        actor, object_words, agent = subject.german["nom"], [], []
        plural_verb = subject.plural
        if patient is not None and passive[0]:
            actor, plural_verb = patient.german["nom"], patient.plural
            agent = attach("von", ids["by"], subject.german["dat"])
        elif patient is not None:
            object_words = patient.german[verb.case or ("dat" if frame == "dative" else "acc")]
            if verb.preposition:
                object_words = attach(verb.preposition, ids["verb"], object_words)
        early = patient is not None and patient.is_pronoun and not verb.preposition
        particle = say(self.pick(table("particles"))) if level < 2 and self.maybe(0.16) else []

        free = {name: words for name, (words, _) in adjuncts.items()}
        opening = [words for name, words in free.items() if name != "manner" and level < 2 and self.maybe(0.4)]
        kept = {name: [] if any(words is one for one in opening) else words for name, words in free.items()}
        middle = [
            say("sich" if verb.reflexive else "", leans=[ids["verb"]]),
            *(object_words if early else [], particle, kept.get("comment", []), kept.get("time", []), given[0]),
            *([] if early else object_words, agent, kept.get("manner", [])),
            say("nicht", negation) if negation is not None and not kein else [],
            *(kept.get("place", []), predicate[0], say(verb.fixed, ids["verb"])),
        ]
        finite_verb, closing = german_verbs(verb, german_tense, modal, passive[0], plural_verb, ids)
        front = [words for words in (actor, *opening) if words]

        # English: adjuncts before the subject or at the end, whatever German does
        actor, object_words, agent = subject.english, patient.english_object if patient else [], []
        plural_verb = subject.plural
        if patient is not None and passive[1]:
            actor, object_words, plural_verb = patient.english, [], patient.plural
            agent = [*say("by", ids["by"], leans=[ids["verb"]]), *subject.english_object]
        ends = [words for name, (_, words) in adjuncts.items() if name != "manner"]
        chance.shuffle(ends)
        first = [*ends.pop(), *say(",", number)] if ends and level < 2 and self.maybe(0.5) else []
        manner = adjuncts["manner"][1] if "manner" in adjuncts else []
        filler = say(self.pick(table("fillers"))) if level < 2 and self.maybe(0.1) else []
        denial = say("not", negation) if negation is not None and not kein else []
        rest = [*say(verb.rest, ids["verb"]), *predicate[1], *object_words, *given[1], *agent, *join(ends), *behind[1]]
        sides = []
        for asked in (False, True):
            verbs = english_verbs(
                verb, english_tense, modal, passive[1], plural_verb, ids, with_do=asked or bool(denial)
            )
            if len(verbs) == 1 and frame != "copula":
                words = [*actor, *filler, *manner, *verbs[0]]
            else:
                head = [*verbs[0], *actor] if asked else [*actor, *verbs[0]]
                words = [*head, *([] if asked else filler), *denial, *join(verbs[1:-1]), *manner, *join(verbs[1:][-1:])]
            sides.append([*words, *rest])

        has_prefix = [word.text for word in closing] == [verb.prefix]
        hard |= {"negation": negation is not None, "kein": kein, "modal particle": bool(particle)}
        hard |= {"English filler": bool(filler), "verb bracket": bool(closing), "separable verb": has_prefix}
        self.found |= {name for name, is_there in hard.items() if is_there}
        return Clause(front, finite_verb, middle, closing, behind[0], first, sides[0], sides[1], has_prefix)

    def adjuncts(self, times: str, level: int) -> dict[str, tuple[Words, Words]]:
        """When, where, how, and what the speaker thinks of it."""
        found = {}
        if level < 2 and self.maybe(0.16):
            found["comment"] = self.expression(self.pick(WORDS["comments"]))
        if times and self.maybe(0.22):
            found["time"] = self.expression(self.pick(WORDS[times]) if self.maybe(0.6) else self.date())
        if self.maybe(0.18):
            found["manner"] = self.expression(self.pick(WORDS["manners"]))
        if self.maybe(0.2):
            found["place"] = self.prepositional("prepositions")
        return found

    def date(self) -> str:
        """A line as those of words.txt: a year, a weekday, or a day."""
        self.found.add("number")
        kind, year = self.chance.randrange(3), self.chance.randrange(1950, 2030)
        if kind == 0:
            return f"im/1 Jahr/?2 {year}/2 = in/1 {year}/2"
        if kind == 1:
            german, english = self.pick(WORDS["weekdays"]).split()
            return f"am/1 {german}/2 = on/1 {english}/2"
        day, (german, english) = self.chance.randrange(1, 29), self.pick(WORDS["months"]).split()
        return f"am/1 {day}./2 {german}/3 = on/1 {day}/2 {english}/3"

    def complement(self, frame: str, verb: int) -> tuple[Words, Words]:
        """The clause that a verb governs: 'dass', or an infinitive with 'zu'."""
        comma, word = next(self.concepts), next(self.concepts)
        if frame == "clausal":
            self.found.add("verb-final clause")
            inner = self.clause(2)
            return [*say(",", comma), *say("dass", word), *inner.final()], [*say("that", word), *inner.english]
        if frame != "control":
            return [], []
        self.found.add("infinitive clause")
        inner_verb, patient = Verb.parse(self.pick(WORDS["transitive"]), self.chance), self.noun("things", 2)
        concept = next(self.concepts)
        if inner_verb.prefix:
            infinitive = say(f"{inner_verb.prefix}zu{inner_verb.infinitive}", concept, word)
        else:
            infinitive = [*say("zu", word), *say(inner_verb.infinitive, concept)]
        german = [*say(",", comma), *patient.german["acc"], *say(inner_verb.fixed, concept), *infinitive]
        english = [*say("to", word), *say(f"{inner_verb.base} {inner_verb.rest}", concept), *patient.english_object]
        return german, english


def attach(preposition: str, concept: int, words: Words) -> Words:
    """A preposition before its phrase, contracted where German does so."""
    short = CONTRACTED.get(f"{preposition} {words[0].text}")
    if short is None:
        return [*say(preposition, concept), *words]
    return [Word(short, words[0].concepts | {concept}, words[0].leans), *words[1:]]


def german_verbs(
    verb: Verb, tense: str, modal: tuple[str, str] | None, passive: bool, plural: bool, ids: dict[str, int]
) -> tuple[Words, Words]:
    """The finite verb, and what closes the bracket: other verbs, or a separable prefix."""
    is_past, leans = tense.startswith("past"), [ids["verb"]]
    own, infinitive = say(verb.participle, ids["verb"]), say(verb.prefix + verb.infinitive, ids["verb"])
    forms, concept, closing = (verb.infinitive, verb.third, verb.past), ids["verb"], say(verb.prefix, ids["verb"])
    if modal is not None:
        forms, concept, closing = modal[0].split(), ids["modal"], infinitive
    elif tense == "future":
        closing = [*own, *say("werden", ids["passive"], leans=leans)] if passive else infinitive
        forms, concept = WERDEN, ids["auxiliary"]
    elif tense.endswith("perfect"):
        closing = [*own, *say("worden" if passive else "", ids["passive"], leans=leans)]
        forms, concept = SEIN if passive or verb.with_sein else HABEN, ids["auxiliary"]
    elif passive:
        forms, concept, closing = WERDEN, ids["passive"], own
    return say(finite(forms, is_past, plural), concept, leans=leans), closing


def english_verbs(
    verb: Verb,
    tense: str,
    modal: tuple[str, str] | None,
    passive: bool,
    plural: bool,
    ids: dict[str, int],
    *,
    with_do: bool,
) -> list[Words]:
    """The verbs in their order, the finite one first; ``with_do`` for questions and negation."""
    is_past = tense.startswith("past")
    # base, past, participle, words behind it, concept, and the form it asks of the next verb
    chain = [(verb.base, verb.english_past, verb.english_participle, "", ids["verb"], "")]
    if passive:
        chain.insert(0, ("be", "was", "been", "", ids["passive"], "participle"))
    if modal is not None:
        base, _, rest = modal[1].partition(" ")
        if is_past and base in ("must", "can"):
            base, rest = ("have", "to") if base == "must" else ("could", "")
        forms = {"want": ("want", "wanted", "wanted"), "have": ("have", "had", "had"), "be": ("be", "was", "been")}
        chain.insert(0, (*forms.get(base, (base, base, base)), rest, ids["modal"], "base"))
    if tense.endswith("perfect"):
        chain.insert(0, ("have", "had", "had", "", ids["auxiliary"], "participle"))
    if tense == "future":
        chain.insert(0, ("will", "will", "", "", ids["auxiliary"], "base"))
    base, _, _, rest, _, asks = chain[0]
    is_lexical = not asks or base == "want" or (base, rest) == ("have", "to")
    if with_do and is_lexical and base != "be":
        chain.insert(0, ("do", "did", "done", "", ids["verb"], "base"))
    made, asked = [], ""
    for base, past, participle, rest, concept, asks in chain:
        if asked:
            form = participle if asked == "participle" else base
        elif base in ("will", "must", "can", "could", "should"):
            form = base
        else:
            form = english_finite(base, past, is_past, plural)
        is_helper = base == "do" and asks != ""  # it leans on its verb
        made.append(say(f"{form} {rest}", *([] if is_helper else [concept]), leans=[ids["verb"]]))
        asked = asks
    return made
