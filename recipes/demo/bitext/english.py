"""Puts meanings into English: auxiliaries and do-support, determiners, and English word order."""

from __future__ import annotations

from dataclasses import replace

from .lexicon import EnglishVerb
from .meaning import Adverbial, Clause, Phrase, Prepositional, Quality, Relative, Sentence
from .tokens import Token, capitalized, comma, listed, tidy_commas, token

BE = EnglishVerb("be", "was", "been", ())
HAVE = EnglishVerb("have", "had", "had", ())
DO = EnglishVerb("do", "did", "done", ())
WANT = EnglishVerb("want", "wanted", "wanted", ())
LEXICAL_MODALS = {"have": HAVE, "want": WANT, "be": BE}
INVARIANT = frozenset(["will", "must", "can", "could", "should", "may"])
DOUBLING = frozenset(["put", "get", "begin", "cut", "win", "run", "set", "forget"])
DETERMINERS = {
    "def": ("the", "the"),
    "generic": ("", ""),
    "zero": ("", ""),
    "this": ("this", "these"),
    "every": ("every", "every"),
    "all": ("all", "all"),
    "many": ("many", "many"),
    "some": ("some", "some"),
    "several": ("several", "several"),
    "our": ("our", "our"),
    "their": ("their", "their"),
    "its": ("its", "its"),
    "my": ("my", "my"),
    "indef": ("a", ""),
}
PRONOUNS = {
    "I": ("I", "me"),
    "we": ("we", "us"),
    "he": ("he", "him"),
    "she": ("she", "her"),
    "it": ("it", "it"),
    "they": ("they", "them"),
}
NO_COMMA_AFTER = frozenset(["perhaps", "probably", "therefore"])
VOWEL_SOUND = ("a", "e", "i", "o", "u")
CONSONANT_SOUND = frozenset(["european", "university", "useful", "un"])  # as in "a useful plan", "a UN report"


def verb_form(verb: EnglishVerb, form: str, first_person: bool, plural: bool) -> str:
    """One form: ``present`` and ``past`` agree with the subject; ``base``, ``participle`` and ``ing`` do not."""
    if verb.base in INVARIANT or form == "base":
        return verb.base
    if form == "participle":
        return "been" if verb.base == "be" else verb.participle
    if form == "ing":
        return _ing(verb)
    if verb.base == "be":
        return _be(form, first_person, plural)
    if form == "past":
        return verb.past
    return verb.base if plural or first_person else _third(verb.base)


def _be(form: str, first_person: bool, plural: bool) -> str:
    if form == "past":
        return "were" if plural else "was"
    if plural:
        return "are"
    return "am" if first_person else "is"


def _third(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def _ing(verb: EnglishVerb) -> str:
    base = verb.base
    if base in DOUBLING or verb.past == base + base[-1] + "ed":
        return base + base[-1] + "ing"
    if base.endswith("e") and not base.endswith("ee") and base != "be":
        return base[:-1] + "ing"
    return base + "ing"


# Noun phrases


def _words(parts: tuple[str, ...], concept: str) -> list[Token]:
    return [token(word, concept) for word in parts]


def _noun(phrase: Phrase) -> list[Token]:
    noun = phrase.noun
    assert noun is not None
    forms = noun.english_plural if phrase.plural else noun.english
    modifier = _words(phrase.modifier.english[0], f"{phrase.uid}.mod") if phrase.modifier else []
    return [*modifier, *_words(forms[phrase.choice], f"{phrase.uid}.head")]


def _quality(quality: Quality) -> list[Token]:
    result = _words(quality.degree.english[0], f"{quality.uid}.degree") if quality.degree else []
    result += [token("more", quality.uid)] if quality.comparative else []
    return result + _words(quality.english, quality.uid)


def _determiner(phrase: Phrase, any_for_no: bool) -> list[Token]:
    det, neg, lean = f"{phrase.uid}.det", f"{phrase.uid}.neg", [f"{phrase.uid}.head"]
    if phrase.determiner == "no":
        if not any_for_no:
            return [token("no", det, neg)]
        return [token("any" if phrase.plural or not phrase.noun or not phrase.noun.plural else "a", det)]
    text = DETERMINERS[phrase.determiner][phrase.plural]
    return [token(text, det, lean=lean)] if text else []


def _indefinite(words: list[Token]) -> list[Token]:
    """``a`` before a vowel sound becomes ``an``."""
    if len(words) < 2 or words[0].text != "a":
        return words
    following = words[1].text.lower()
    vowel = following.startswith(VOWEL_SOUND) and following not in CONSONANT_SOUND
    return [token("an" if vowel else "a", *words[0].concepts, lean=words[0].fallback), *words[1:]]


def _name(phrase: Phrase) -> list[Token]:
    return [token(word, f"{phrase.uid}.{n}") for n, part in enumerate(phrase.name) for word in part.english[0]]


def _amount(phrase: Phrase) -> list[Token]:
    assert phrase.numeral is not None
    number, head = token(phrase.numeral[1], f"{phrase.uid}.num"), f"{phrase.uid}.head"
    if phrase.noun is None:
        return [number, token("million", f"{phrase.uid}.unit"), token("euros", head)]
    return [number, token("percent", f"{phrase.uid}.unit"), token("of", lean=[head]), *_noun(phrase)]


def noun_phrase(phrase: Phrase, role: str = "object", any_for_no: bool = False) -> list[Token]:
    """A whole phrase; ``role`` tells pronouns apart, ``any_for_no`` says that the verb already carries the negation."""
    items = [_simple_phrase(phrase, role, any_for_no), *(noun_phrase(other, role) for other in phrase.joined)]
    return listed(items[::-1] if phrase.swapped else items, "and", phrase.uid)


def _simple_phrase(phrase: Phrase, role: str, any_for_no: bool) -> list[Token]:
    if phrase.kind == "pronoun":
        return [token(PRONOUNS[phrase.pronoun][role != "subject"], f"{phrase.uid}.head")]
    if phrase.kind == "expletive":
        return [token("there", f"{phrase.uid}.head")]
    if phrase.kind in ("name", "place"):
        return _name(phrase)
    if phrase.kind == "amount":
        return _amount(phrase)
    core = [token(phrase.numeral[1], f"{phrase.uid}.num")] if phrase.numeral else []
    for quality in phrase.qualities:
        core += _quality(quality)
    core += _noun(phrase)
    owner = phrase.genitive
    if owner and phrase.possessive:
        mark = token("'s", lean=[f"{owner.uid}.det", f"{owner.uid}.0"])
        # the German article of what is owned has no counterpart here and leans on its noun
        return [*noun_phrase(owner), mark, *core, *_postmodifiers(phrase, with_genitive=False)]
    return [*_indefinite([*_determiner(phrase, any_for_no), *core]), *_postmodifiers(phrase)]


def _postmodifiers(phrase: Phrase, with_genitive: bool = True) -> list[Token]:
    result: list[Token] = []
    owner = phrase.genitive
    if owner and with_genitive:
        result += [token("of", lean=[f"{owner.uid}.det", f"{owner.uid}.0"]), *noun_phrase(owner)]
    if phrase.attribute:
        result += prepositional(phrase.attribute)
    if phrase.relative:
        result += _relative(phrase, phrase.relative)
    return result


def _relative(phrase: Phrase, relative: Relative) -> list[Token]:
    person = phrase.noun is not None and phrase.noun.person
    word = "who" if person else ("which" if relative.commas else "that")
    pronoun = [] if relative.bare else [token(word, relative.uid, lean=[f"{phrase.uid}.head"])]
    inner = [*pronoun, *clause(relative.clause)]
    if not relative.commas:
        return inner
    return [comma(f"{relative.uid}.open"), *inner, comma(f"{relative.uid}.close")]


def prepositional(item: Prepositional) -> list[Token]:
    """An adjunct such as ``because of the crisis``."""
    return [*_words(item.preposition.english, item.uid), *noun_phrase(item.phrase)]


def adverbial(item: Adverbial) -> list[Token]:
    """A fixed phrase, its concepts made those of this use."""
    return [
        token(word, *(f"{item.uid}.{c}" for c in own), lean=[f"{item.uid}.{c}" for c in fallback])
        for word, own, fallback in item.expression.english
    ]


# Clauses


Step = tuple[EnglishVerb, str, tuple[str, ...], str]  # verb, concept, fixed words, the form it asks of the next


def _chain(item: Clause) -> list[Step]:
    """The verbs from the outermost inwards."""
    chain: list[Step] = []
    for name in item.tense.english_auxiliaries:
        if name == "future":
            chain.append((EnglishVerb("will", "would", "", ()), name, (), "base"))
        elif name == "perfect":
            chain.append((HAVE, name, (), "participle"))
    if item.modal:
        first, *rest = item.modal.english
        chain.append((LEXICAL_MODALS.get(first, EnglishVerb(first, first, "", ())), "modal", tuple(rest), "base"))
    if "progressive" in item.tense.english_auxiliaries:
        chain.append((BE, "progressive", (), "ing"))
    if item.passive:
        chain.append((BE, "passive", (), "participle"))
    chain.append((item.english, "verb", item.english.rest[: _own_words(item)], ""))
    return chain


def _own_words(item: Clause) -> int:
    """How many of the fixed words stand right behind the verb; a governed preposition goes to its phrase."""
    return len(item.english.rest) - (1 if item.verb.preposition else 0)


def _agreement(item: Clause) -> tuple[bool, bool]:
    if item.subject.kind == "expletive" and item.object is not None:
        return False, item.object.agrees_plural
    return item.subject.first_person, item.subject.agrees_plural


def verbs(item: Clause, inverted: bool, infinitive: bool = False) -> tuple[list[Token], list[Token]]:
    """The finite verb (what a question puts before the subject) and the rest, negation and manner in their places."""
    chain = _chain(item)
    lean = [f"{item.uid}.verb"]
    negated = item.negation in ("nicht", "kein-not")
    needs_do = (negated or inverted) and not infinitive and not _is_auxiliary(chain[0])
    if needs_do:
        chain.insert(0, (DO, "do", (), "base"))
    first_person, plural = _agreement(item)
    form = "base" if infinitive else item.tense.english
    groups: list[list[Token]] = []
    for verb, name, fixed, asks in chain:
        concept = f"{item.uid}.{name}"
        fallback = [] if name == "verb" else lean
        text = verb_form(verb, form, first_person, plural)
        groups.append([token(word, concept, lean=fallback) for word in (text, *fixed)])
        form = asks
    return _arranged(item, groups, negated, infinitive, split=_is_auxiliary(chain[0]) or needs_do)


def _is_auxiliary(step: Step) -> bool:
    verb, name, _, _ = step
    if name == "modal":
        return verb.base in INVARIANT or verb.base == "be"
    return name != "verb" or verb.base == "be"


def _arranged(
    item: Clause, groups: list[list[Token]], negated: bool, infinitive: bool, split: bool
) -> tuple[list[Token], list[Token]]:
    manner = [token(item.filler)] if item.filler else []
    manner += adverbial(item.comment) if item.comment and item.english_comment == "middle" else []
    manner += adverbial(item.manner) if item.manner else []
    neg = [token("not", f"{item.uid}.neg" if item.negation == "nicht" else f"{_uid(item.object)}.neg")]
    neg = neg if negated else []
    if infinitive:
        inner = [word for group in groups for word in group]
        return [], [*neg, token("to", f"{item.uid}.to", lean=[f"{item.uid}.verb"]), *manner, *inner]
    if not split:
        return [], [*manner, *(word for group in groups for word in group)]
    head, *behind_head = groups[0]
    rest = [word for group in groups[1:] for word in group]
    return [head], [*neg, *(manner if not behind_head else []), *behind_head, *rest, *(manner if behind_head else [])]


def _uid(phrase: Phrase | None) -> str:
    return phrase.uid if phrase else ""


def _arguments(item: Clause) -> list[Token]:
    any_for_no = item.negation == "kein-not"
    objects = [] if item.object is None or item.gap == "object" else noun_phrase(item.object, "object", any_for_no)
    result: list[Token] = []
    if item.indirect:
        receiver = noun_phrase(item.indirect)
        if item.shifted:
            result += [*receiver, *objects]
        else:
            to = token("to", lean=[f"{item.indirect.uid}.det", f"{item.indirect.uid}.head", f"{item.indirect.uid}.0"])
            result += [*objects, to, *receiver]
    else:
        result += objects
    if item.governed:
        result += [token(item.english.rest[-1], f"{item.uid}.prep"), *noun_phrase(item.governed)]
    if item.quality:
        result += _quality(item.quality)
    if item.agent:
        result += [token("by", f"{item.uid}.by"), *noun_phrase(item.agent)]
    return result


def _behind(item: Clause) -> list[Token]:
    result: list[Token] = []
    if item.complement:
        if item.complement_kind == "infinitive":
            result += infinitive(item.complement)
        else:
            that = [token("that", f"{item.uid}.that")] if item.complement_kind == "that" else []
            result += [*that, *clause(item.complement)]
    if item.purpose:
        um = f"{item.purpose.uid}.um"
        result += [token("in", um), token("order", um), *infinitive(item.purpose)]
    return result


def infinitive(item: Clause) -> list[Token]:
    """A clause without subject, with ``to``."""
    _, group = verbs(item, inverted=False, infinitive=True)
    return [*group, *_arguments(item), *_adjuncts(item, ""), *_behind(item)]


def _adjuncts(item: Clause, front: str) -> list[Token]:
    place = prepositional(item.place) if item.place and front != "place" else []
    time = adverbial(item.time) if item.time and front != "time" else []
    return [*time, *place] if item.time_before_place else [*place, *time]


def _front(item: Clause) -> list[Token]:
    result = adverbial(item.comment) if item.comment and item.english_comment == "front" else []
    if result and result[0].text not in NO_COMMA_AFTER:
        result.append(comma(f"{item.uid}.front"))
    if item.english_front == "time" and item.time:
        result += [*adverbial(item.time), comma(f"{item.uid}.front")]
    if item.english_front == "place" and item.place:
        result += [*prepositional(item.place), comma(f"{item.uid}.front")]
    return result


def _end(item: Clause) -> list[Token]:
    if not item.comment or item.english_comment != "end":
        return []
    return [comma(f"{item.uid}.end"), *adverbial(item.comment), comma()]


def _recast(item: Clause) -> Clause:
    """The same said in the other voice."""
    if item.passive:
        assert item.agent is not None
        return replace(item, recast=False, passive=False, subject=item.agent, object=item.subject, agent=None)
    assert item.object is not None
    return replace(item, recast=False, passive=True, subject=item.object, object=None, agent=item.subject)


def clause(item: Clause, inverted: bool = False) -> list[Token]:
    """A finite clause; ``inverted`` puts the auxiliary before the subject."""
    item = _recast(item) if item.recast else item
    head, rest = verbs(item, inverted)
    subject = [] if item.gap == "subject" else noun_phrase(item.subject, "subject")
    start = [*head, *subject] if inverted else [*subject, *head]
    return [
        *_front(item),
        *start,
        *rest,
        *_arguments(item),
        *_adjuncts(item, item.english_front),
        *_behind(item),
        *_end(item),
    ]


# Sentences


def sentence(item: Sentence) -> list[Token]:
    """The sentence as Moses tokens, with its final mark."""
    result: list[Token] = []
    if item.vocative:
        result += [*adverbial(item.vocative), comma(f"{item.uid}.vocative")]
    sub = item.subordinate
    if sub and sub.first_in_english:
        result += [*_subordinate(item), comma(f"{sub.uid}.comma")]
    word = _words(item.question_word.english[0], f"{item.uid}.wh") if item.question_word else []
    first, second = (item.second, item.main) if item.second and item.second_first else (item.main, item.second)
    result += [*word, *clause(first, inverted=item.question)]
    if sub and not sub.first_in_english:
        result += _subordinate(item)
    if second:
        _, english, _, with_comma = item.coordinator
        result += [comma(f"{item.uid}.second")] if with_comma else []
        result += [token(english, f"{item.uid}.and"), *clause(second)]
    result.append(token("?" if item.question else ".", f"{item.uid}.stop"))
    return capitalized(tidy_commas(result))


def _subordinate(item: Sentence) -> list[Token]:
    sub = item.subordinate
    assert sub is not None
    return [*_words(sub.conjunction.english[0], sub.uid), *clause(sub.clause)]
