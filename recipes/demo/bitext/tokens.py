"""Words that know what they express; from this come the text, the tokens and the gold alignment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

Link = tuple[int, int]
STICK_LEFT = frozenset([".", ",", "?", "!", ";", ":", ")", "'s"])
CLOSING = frozenset([".", "?", ";", ":"])


@dataclass(frozen=True)
class Token:
    """A word as the Moses tokenizer leaves it.

    ``concepts`` are what it expresses: with a word of the other language that shares one it has a sure link.
    ``fallback`` are the concepts it leans on when nothing there corresponds to it (an article that English omits leans
    on its noun): with words that express them, or lean on them too, it has possible links.
    """

    text: str
    concepts: frozenset[str] = frozenset()
    fallback: frozenset[str] = frozenset()


def token(text: str, *concepts: str, lean: Iterable[str] = ()) -> Token:
    """A token that expresses ``concepts`` and leans on ``lean``."""
    return Token(text, frozenset(concepts), frozenset(lean))


def comma(*concepts: str) -> Token:
    """A comma; clause boundaries that meet share one."""
    return token(",", *concepts)


def listed(items: Sequence[Sequence[Token]], conjunction: str, uid: str) -> list[Token]:
    """Phrases with commas between them, and a conjunction before the last."""
    result = list(items[0])
    for number, item in enumerate(items[1:], start=1):
        between = comma(f"{uid}.comma{number}") if number < len(items) - 1 else token(conjunction, f"{uid}.and")
        result += [between, *item]
    return result


def links(source: Sequence[Token], target: Sequence[Token]) -> tuple[set[Link], set[Link]]:
    """The sure links and all possible ones (the sure among them), 0-based, source first."""
    sure = {(i, j) for i, s in enumerate(source) for j, t in enumerate(target) if s.concepts & t.concepts}
    linked_source, linked_target = {i for i, _ in sure}, {j for _, j in sure}
    possible = set(sure)
    for i, s in enumerate(source):
        for j, t in enumerate(target):
            s_leans = s.fallback if i not in linked_source else frozenset()
            t_leans = t.fallback if j not in linked_target else frozenset()
            if s_leans & t.concepts or t_leans & s.concepts or s_leans & t_leans:
                possible.add((i, j))
    return sure, possible


def tidy_commas(tokens: Sequence[Token]) -> list[Token]:
    """Merge neighbouring commas and drop those at the start and before a stronger mark."""
    kept: list[Token] = []
    for item in tokens:
        if item.text == "," and not kept:
            continue
        if kept and kept[-1].text == ",":
            if item.text == ",":
                kept[-1] = replace(kept[-1], concepts=kept[-1].concepts | item.concepts)
                continue
            if item.text in CLOSING:
                kept.pop()
        kept.append(item)
    return kept


def capitalized(tokens: Sequence[Token]) -> list[Token]:
    """The same words with a capital at the start."""
    first, *rest = tokens
    return [replace(first, text=first.text[0].upper() + first.text[1:]), *rest]


def detokenize(tokens: Sequence[Token]) -> str:
    """The sentence as it would be written."""
    text = ""
    for item in tokens:
        glued = not text or text.endswith("(") or item.text in STICK_LEFT
        text += item.text if glued else " " + item.text
    return text
