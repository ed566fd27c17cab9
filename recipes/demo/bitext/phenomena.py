"""Names what makes a sentence pair hard to align, so that a corpus can be checked for all of it."""

from __future__ import annotations

from collections.abc import Iterator

from .meaning import Clause, Phrase, Sentence

PHENOMENA = (
    "verb-final clause",
    "separable verb apart",
    "verb bracket",
    "clauses in another order",
    "other voice",
    "object first",
    "adverbial first",
    "compound",
    "article without counterpart",
    "modal particle",
    "English filler",
    "relative clause",
    "extraposed relative clause",
    "negation",
    "kein",
    "infinitive clause",
    "passive",
    "question",
    "number",
    "name",
    "one to many",
    "many to one",
    "coordination",
    "list",
)


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """All clauses of a sentence, relative clauses included."""
    stack = [sentence.main] + [sentence.second] * bool(sentence.second)
    if sentence.subordinate:
        stack.append(sentence.subordinate.clause)
    while stack:
        item = stack.pop()
        if item is None:
            continue
        yield item
        stack += [item.complement, item.purpose]
        stack += [phrase.relative.clause for phrase in phrases(item) if phrase.relative]


def phrases(clause: Clause) -> Iterator[Phrase]:
    """The phrases that a clause itself says, with those that hang on them."""
    spoken = [clause.subject if clause.gap != "subject" else None, clause.object if clause.gap != "object" else None]
    place = clause.place.phrase if clause.place else None
    stack = [*spoken, clause.indirect, clause.governed, clause.agent, place]
    while stack:
        phrase = stack.pop()
        if phrase is not None:
            yield phrase
            attribute = phrase.attribute.phrase if phrase.attribute else None
            stack += [phrase.genitive, attribute, *phrase.joined]


def phenomena(sentence: Sentence) -> set[str]:
    """Those of :data:`PHENOMENA` that the sentence shows."""
    found = set()
    if sentence.question:
        found.add("question")
    if sentence.subordinate:
        found.add("verb-final clause")
    if sentence.subordinate and sentence.subordinate.first != sentence.subordinate.first_in_english:
        found.add("clauses in another order")
    if sentence.second:
        found.add("coordination")
    for clause in clauses(sentence):
        found |= _in_clause(clause)
        for phrase in phrases(clause):
            found |= _in_phrase(phrase)
    if _separated(sentence.main):
        found.add("separable verb apart")
    return found


def _separated(clause: Clause) -> bool:
    plain = not clause.tense.german_auxiliaries and not clause.modal and not clause.passive
    return bool(clause.verb.prefix) and plain


def _in_clause(clause: Clause) -> set[str]:
    tests = {
        "verb-final clause": clause.complement_kind in ("that", "bare-that"),
        "infinitive clause": clause.complement_kind == "infinitive" or clause.purpose,
        "verb bracket": clause.tense.german_auxiliaries or clause.modal,
        "object first": clause.german_front == "object",
        "adverbial first": clause.german_front in ("time", "comment", "place"),
        "modal particle": clause.particle,
        "English filler": clause.filler,
        "negation": clause.negation == "nicht",
        "kein": clause.negation.startswith("kein"),
        "passive": clause.passive,
        "other voice": clause.recast,
        "one to many": clause.english.rest or (clause.modal and len(clause.modal.english) > 1),
        "many to one": clause.verb.fixed or clause.verb.prefix,
    }
    return {name for name, holds in tests.items() if holds}


def _in_phrase(phrase: Phrase) -> set[str]:
    tests = {
        "compound": phrase.modifier,
        "article without counterpart": phrase.determiner == "generic" or phrase.possessive,
        "relative clause": phrase.relative,
        "extraposed relative clause": phrase.relative and phrase.relative.extraposed,
        "number": phrase.numeral,
        "name": phrase.kind in ("name", "place"),
        "list": len(phrase.joined) > 1,
        "coordination": phrase.joined,
    }
    return {name for name, holds in tests.items() if holds}
