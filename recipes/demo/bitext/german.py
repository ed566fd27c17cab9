"""Puts meanings into German: case, gender and number, the verb bracket, and the word order of each clause type."""

from __future__ import annotations

import re

from .lexicon import Verb
from .meaning import Adverbial, Clause, Phrase, Prepositional, Quality, Relative, Sentence
from .tokens import Token, capitalized, comma, listed, tidy_commas, token

CASES = ("nom", "acc", "dat", "gen")
COLUMNS = {"m": 0, "f": 1, "n": 2, "pl": 3}


def _paradigm(text: str) -> dict[str, list[str]]:
    """Rows are the cases, columns masculine, feminine, neuter, plural; ``-`` is the empty ending."""
    rows = [[cell.strip("-") for cell in row.split()] for row in text.split(",")]
    return dict(zip(CASES, rows, strict=True))


DEFINITE = _paradigm("der die das die, den die das die, dem der dem den, des der des der")
RELATIVE = _paradigm("der die das die, den die das die, dem der dem denen, dessen deren dessen deren")
DER_ENDINGS = _paradigm("er e es e, en e es e, em er em en, es er es er")
EIN_ENDINGS = _paradigm("- e - e, en e - e, em er em en, es er es er")
WEAK = _paradigm("e e e en, en e e en, en en en en, en en en en")
MIXED = _paradigm("er e es en, en e es en, en en en en, en en en en")
STRONG = _paradigm("er e es e, en e es e, em er em en, en er en er")
DER_WORDS = {"this": "dies", "every": "jed", "all": "all", "many": "viel", "some": "einig", "several": "mehrer"}
EIN_WORDS = {"indef": "ein", "no": "kein", "our": "unser", "their": "ihr", "its": "sein", "my": "mein"}
STRONG_AFTER = {"zero", "many", "some", "several"}
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("bei", "dem"): "beim",
    ("von", "dem"): "vom",
}
PRONOUNS = {
    "I": ("ich", "mich", "mir"),
    "we": ("wir", "uns", "uns"),
    "he": ("er", "ihn", "ihm"),
    "she": ("sie", "sie", "ihr"),
    "it": ("es", "es", "ihm"),
    "they": ("sie", "sie", "ihnen"),
}
REFLEXIVES = {"I": "mich", "we": "uns"}
IRREGULAR_STEMS = {"hoch": "hoh", "teuer": "teur", "besonder": "besonder"}


def _auxiliary(infinitive: str, third: str, past: str, participle: str) -> Verb:
    return Verb(infinitive, third, past, participle, "", "", (), False, ())


AUXILIARIES = {
    "haben": _auxiliary("haben", "hat", "hatte", "gehabt"),
    "sein": _auxiliary("sein", "ist", "war", "gewesen"),
    "werden": _auxiliary("werden", "wird", "wurde", "worden"),
    "müssen": _auxiliary("müssen", "muss", "musste", ""),
    "können": _auxiliary("können", "kann", "konnte", ""),
    "sollen": _auxiliary("sollen", "soll", "sollte", ""),
    "wollen": _auxiliary("wollen", "will", "wollte", ""),
    "dürfen": _auxiliary("dürfen", "darf", "durfte", ""),
}
MODALS = frozenset(["müssen", "können", "sollen", "wollen", "dürfen"])
SAME_FIRST_AND_THIRD = MODALS | {"wissen"}
IRREGULAR_FIRST = {"sein": "bin", "haben": "habe", "werden": "werde"}


def finite(verb: Verb, tense: str, first_person: bool, plural: bool) -> str:
    """The finite form, without a separable prefix."""
    if tense == "past":
        if not plural:
            return verb.past
        return verb.past + ("n" if verb.past.endswith("e") else "en")
    if plural:
        return "sind" if verb.infinitive == "sein" else verb.infinitive
    if not first_person or verb.infinitive in SAME_FIRST_AND_THIRD:
        return verb.third
    return IRREGULAR_FIRST.get(verb.infinitive) or _regular_first(verb.infinitive)


def _regular_first(infinitive: str) -> str:
    if infinitive.endswith("eln"):
        return infinitive[:-3] + "le"
    if infinitive.endswith("ern"):
        return infinitive[:-1] + "e"
    return infinitive[:-2] + "e"


# Noun phrases


def _column(phrase: Phrase) -> str:
    if phrase.plural or phrase.noun is None:
        return "pl"
    return phrase.noun.gender


def noun_form(phrase: Phrase, case: str) -> str:
    """The noun of a phrase, its compound modifier in front, in the phrase's number and a case."""
    noun = phrase.noun
    assert noun is not None
    if phrase.plural:
        form = noun.plural + ("n" if case == "dat" and not noun.plural.endswith(("n", "s")) else "")
    elif noun.weak and case != "nom":
        form = noun.plural
    elif case == "gen" and noun.gender != "f":
        form = noun.german + _genitive_ending(noun.german)
    else:
        form = noun.german
    if phrase.modifier is None:
        return form
    return phrase.modifier.german + (form if phrase.modifier.german.endswith("-") else form.lower())


def _genitive_ending(lemma: str) -> str:
    if lemma == "Fonds" or lemma.endswith("ismus"):
        return ""
    if lemma.endswith("nis"):
        return "ses"
    one_syllable = len(re.findall("[aeiouyäöü]+", lemma.lower())) == 1
    return "es" if one_syllable or lemma.endswith(("s", "ß", "x", "z")) else "s"


def _determiner(phrase: Phrase, case: str) -> list[Token]:
    column = COLUMNS[_column(phrase)]
    kind = phrase.determiner
    head = f"{phrase.uid}.head"
    if kind == "zero":
        return []
    if kind in ("def", "generic"):
        text = DEFINITE[case][column]
    elif kind in EIN_WORDS:
        text = EIN_WORDS[kind] + EIN_ENDINGS[case][column]
    else:
        text = DER_WORDS[kind] + DER_ENDINGS[case][column]
    concepts = [f"{phrase.uid}.det"] + ([f"{phrase.uid}.neg"] if kind == "no" else [])
    return [token(text, *concepts, lean=[head])]


def _adjective_endings(determiner: str) -> dict[str, list[str]]:
    if determiner in STRONG_AFTER:
        return STRONG
    return MIXED if determiner in EIN_WORDS else WEAK


def _stem(quality: Quality) -> str:
    return quality.german + "er" if quality.comparative else quality.german


def _attributive(quality: Quality, ending: str) -> list[Token]:
    stem = IRREGULAR_STEMS.get(quality.german, _stem(quality))
    degree = [token(quality.degree.german, f"{quality.uid}.degree")] if quality.degree else []
    return [*degree, token(stem + ending, quality.uid)]


def _pronoun(phrase: Phrase, case: str) -> list[Token]:
    return [token(PRONOUNS[phrase.pronoun][CASES.index(case)], f"{phrase.uid}.head")]


def _name(phrase: Phrase, case: str) -> list[Token]:
    result = []
    for number, part in enumerate(phrase.name):
        text = "Herrn" if part.german == "Herr" and case != "nom" else part.german
        if case == "gen" and number == len(phrase.name) - 1 and not text.endswith("s"):
            text += "s"
        result.append(token(text, f"{phrase.uid}.{number}"))
    return result


def _amount(phrase: Phrase) -> list[Token]:
    assert phrase.numeral is not None
    number = token(phrase.numeral[0], f"{phrase.uid}.num")
    if phrase.noun is None:
        return [number, token("Millionen", f"{phrase.uid}.unit"), token("Euro", f"{phrase.uid}.head")]
    head = f"{phrase.uid}.head"
    article = token("der", lean=[head])
    return [number, token("Prozent", f"{phrase.uid}.unit"), article, token(noun_form(phrase, "gen"), head)]


def noun_phrase(phrase: Phrase, case: str) -> list[Token]:
    """A whole phrase with what hangs on it; an extraposed relative clause is left to the clause."""
    return listed(
        [_simple_phrase(phrase, case), *(noun_phrase(other, case) for other in phrase.joined)], "und", phrase.uid
    )


def _simple_phrase(phrase: Phrase, case: str) -> list[Token]:
    if phrase.kind == "pronoun":
        return _pronoun(phrase, case)
    if phrase.kind == "expletive":
        return [token("es", f"{phrase.uid}.head")]
    if phrase.kind in ("name", "place"):
        return _name(phrase, case)
    if phrase.kind == "amount":
        return _amount(phrase)
    endings = _adjective_endings(phrase.determiner)[case][COLUMNS[_column(phrase)]]
    result = _determiner(phrase, case)
    if phrase.numeral:
        result.append(token(phrase.numeral[0], f"{phrase.uid}.num"))
    for quality in phrase.qualities:
        result += _attributive(quality, endings)
    parts = [f"{phrase.uid}.head"] + ([f"{phrase.uid}.mod"] if phrase.modifier else [])
    result.append(token(noun_form(phrase, case), *parts))
    return result + _postmodifiers(phrase)


def _postmodifiers(phrase: Phrase) -> list[Token]:
    result = []
    if phrase.genitive:
        result += noun_phrase(phrase.genitive, "gen")
    if phrase.attribute:
        result += prepositional(phrase.attribute)
    if phrase.relative and not phrase.relative.extraposed:
        result += _relative(phrase, phrase.relative)
    return result


def _relative(phrase: Phrase, relative: Relative) -> list[Token]:
    case = "nom" if relative.role == "subject" else "acc"
    pronoun = token(RELATIVE[case][COLUMNS[_column(phrase)]], relative.uid, lean=[f"{phrase.uid}.head"])
    inner = clause(relative.clause, "final")
    return [comma(f"{relative.uid}.open"), pronoun, *inner, comma(f"{relative.uid}.close")]


def governed_phrase(preposition: str, concept: str, phrase: Phrase, case: str) -> list[Token]:
    """A preposition and its phrase, contracted where German does so."""
    first, *rest = noun_phrase(phrase, case)
    short = CONTRACTIONS.get((preposition, first.text))
    if short and phrase.determiner in ("def", "generic"):
        return [token(short, concept, *first.concepts), *rest]
    return [token(preposition, concept), first, *rest]


def prepositional(item: Prepositional) -> list[Token]:
    """An adjunct such as ``wegen der Krise``."""
    return governed_phrase(item.preposition.german, item.uid, item.phrase, item.preposition.case)


def adverbial(item: Adverbial) -> list[Token]:
    """A fixed phrase, its concepts made those of this use."""
    return [
        token(word, *(f"{item.uid}.{c}" for c in own), lean=[f"{item.uid}.{c}" for c in fallback])
        for word, own, fallback in item.expression.german
    ]


# Clauses


def verb_chain(item: Clause) -> tuple[Token, list[Token]]:
    """The finite verb, and what closes the bracket behind the middle field: other verbs or a separable prefix."""
    lean = [f"{item.uid}.verb"]
    chain: list[tuple[Verb, str]] = []  # from the outermost: each auxiliary and the form it asks of the next
    for name in item.tense.german_auxiliaries:
        lemma = "werden" if name == "future" else ("sein" if item.passive else item.verb.auxiliary)
        chain.append((AUXILIARIES[lemma], name))
    if item.modal:
        chain.append((AUXILIARIES[item.modal.german], "modal"))
    if item.passive:
        chain.append((AUXILIARIES["werden"], "passive"))
    first_person, plural = item.subject.first_person, item.subject.agrees_plural
    if not chain:
        text = finite(item.verb, item.tense.german, first_person, plural)
        prefix = [token(item.verb.prefix, f"{item.uid}.verb")] if item.verb.prefix else []
        return token(text, f"{item.uid}.verb"), prefix
    head = token(finite(chain[0][0], item.tense.german, first_person, plural), f"{item.uid}.{chain[0][1]}", lean=lean)
    wanted = [name for _, name in chain]
    inner = [
        token(_nonfinite(verb, wanted[position]), f"{item.uid}.{name}", lean=lean)
        for position, (verb, name) in enumerate(chain[1:])
    ]
    main = token(_main_nonfinite(item.verb, wanted[-1]), f"{item.uid}.verb")
    return head, [main, *reversed(inner)]


def _nonfinite(verb: Verb, asked_by: str) -> str:
    return verb.participle if asked_by in ("perfect", "passive") else verb.infinitive


def _main_nonfinite(verb: Verb, asked_by: str) -> str:
    return verb.participle if asked_by in ("perfect", "passive") else verb.prefix + verb.infinitive


def _reflexive(item: Clause) -> list[Token]:
    if not item.verb.reflexive:
        return []
    return [token(REFLEXIVES.get(item.subject.pronoun, "sich"), lean=[f"{item.uid}.verb"])]


def _object(item: Clause) -> list[Token]:
    if item.object is None or item.gap == "object":
        return []
    return noun_phrase(item.object, "dat" if item.verb.case == "dat" and not item.verb.preposition else "acc")


def _parts(item: Clause) -> dict[str, list[Token]]:
    """What can stand before the verb or in the middle field, by name, in the order of the middle field."""
    parts: dict[str, list[Token]] = {}
    parts["subject"] = [] if item.gap == "subject" else noun_phrase(item.subject, "nom")
    parts["reflexive"] = _reflexive(item)
    late = item.object is not None and item.object.determiner in ("indef", "zero", "no")
    pronominal = item.object is not None and item.object.kind == "pronoun"
    parts["pronoun"] = _object(item) if pronominal else []
    receiver = noun_phrase(item.indirect, "dat") if item.indirect else []
    short_receiver = item.indirect is not None and item.indirect.kind == "pronoun"
    parts["pronoun receiver"] = receiver if short_receiver else []
    parts["particle"] = [token(item.particle)] if item.particle else []
    parts["comment"] = adverbial(item.comment) if item.comment else []
    time = adverbial(item.time) if item.time else []
    parts["time"] = [] if item.late_time else time
    parts["indirect"] = [] if short_receiver else receiver
    parts["object"] = [] if late or pronominal else _object(item)
    parts["late time"] = time if item.late_time else []
    parts["agent"] = governed_phrase("von", f"{item.uid}.by", item.agent, "dat") if item.agent else []
    parts["place"] = prepositional(item.place) if item.place else []
    parts["manner"] = adverbial(item.manner) if item.manner else []
    parts["negation"] = [token("nicht", f"{item.uid}.neg")] if item.negation == "nicht" else []
    parts["late object"] = _object(item) if late and not pronominal else []
    parts["governed"] = _governed(item)
    parts["quality"] = _predicate(item.quality) if item.quality else []
    parts["fixed"] = [token(word, f"{item.uid}.verb") for word in item.verb.fixed]
    return parts


def _governed(item: Clause) -> list[Token]:
    if item.governed is None:
        return []
    return governed_phrase(item.verb.preposition, f"{item.uid}.prep", item.governed, item.verb.case)


def _predicate(quality: Quality) -> list[Token]:
    degree = [token(quality.degree.german, f"{quality.uid}.degree")] if quality.degree else []
    return [*degree, token(_stem(quality), quality.uid)]


def _behind(item: Clause) -> list[Token]:
    """What follows the bracket: extraposed relative clauses, complement and purpose clauses."""
    result: list[Token] = []
    for phrase in (item.object if item.gap != "object" else None, item.governed):
        if phrase and phrase.relative and phrase.relative.extraposed:
            result += _relative(phrase, phrase.relative)
    if item.complement:
        result.append(comma(f"{item.uid}.complement"))
        if item.complement_kind == "infinitive":
            result += clause(item.complement, "infinitive")
        else:
            result += [token("dass", f"{item.uid}.that"), *clause(item.complement, "final")]
        result.append(comma())
    if item.purpose:
        um = token("um", f"{item.purpose.uid}.um", lean=[f"{item.purpose.uid}.to"])
        result += [comma(f"{item.purpose.uid}.comma"), um, *clause(item.purpose, "infinitive"), comma()]
    return result


def clause(item: Clause, order: str) -> list[Token]:
    """A clause, its verb ``second``, ``first`` (questions, main clauses that follow), ``final`` or ``infinitive``."""
    parts = _parts(item)
    front = parts.pop(item.german_front, []) if order == "second" else []
    if order == "infinitive":
        parts.pop("subject")
    middle = [word for part in parts.values() for word in part]
    if order == "infinitive":
        return [*middle, *_zu_infinitive(item), *_behind(item)]
    head, bracket = verb_chain(item)
    if order == "final":
        return [*middle, *_final_verbs(item, head, bracket), *_behind(item)]
    return [*front, head, *middle, *bracket, *_behind(item)]


def _final_verbs(item: Clause, head: Token, bracket: list[Token]) -> list[Token]:
    plain = not item.tense.german_auxiliaries and item.modal is None and not item.passive
    if plain:
        return [token(item.verb.prefix + head.text, *head.concepts)]
    return [*bracket, head]


def _zu_infinitive(item: Clause) -> list[Token]:
    verb, to = f"{item.uid}.verb", f"{item.uid}.to"
    if item.verb.prefix:
        return [token(f"{item.verb.prefix}zu{item.verb.infinitive}", verb, to)]
    return [token("zu", to, lean=[verb]), token(item.verb.infinitive, verb)]


# Sentences


def sentence(item: Sentence) -> list[Token]:
    """The sentence as Moses tokens, with its final mark."""
    result: list[Token] = []
    if item.vocative:
        result += [*adverbial(item.vocative), comma(f"{item.uid}.vocative")]
    sub = item.subordinate
    if sub and sub.first:
        result += [*_subordinate(item), comma(f"{sub.uid}.comma"), *clause(item.main, "first")]
    elif item.question:
        result += _question(item)
    else:
        result += clause(item.main, "second")
    if sub and not sub.first:
        result += [comma(f"{sub.uid}.comma"), *_subordinate(item)]
    if item.second:
        word, _, with_comma, _ = item.coordinator
        result += [comma(f"{item.uid}.second")] if with_comma else []
        result += [token(word, f"{item.uid}.and"), *clause(item.second, "second")]
    result.append(token("?" if item.question else ".", f"{item.uid}.stop"))
    return capitalized(tidy_commas(result))


def _subordinate(item: Sentence) -> list[Token]:
    sub = item.subordinate
    assert sub is not None
    return [token(sub.conjunction.german, sub.uid), *clause(sub.clause, "final")]


def _question(item: Sentence) -> list[Token]:
    word = [token(item.question_word.german, f"{item.uid}.wh")] if item.question_word else []
    return [*word, *clause(item.main, "first")]
