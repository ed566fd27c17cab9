"""Pairs that are not translations, made from pairs that are: twelve kinds of damage, the same for the same seed.

    python recipes/check/damage.py --source text.de --target text.en --tokenizer de en --lowercase --pairs 400 OUT

OUT.source and OUT.target hold every true pair (kind ``true``), after it one damaged pair of each kind that its words
allow, and the pair that kind l is made from (kind ``true_marked``). OUT.kinds has a JSON object per line: the number of
the true pair, the kind, and where they are known the positions of the target words that have no source (``bad``) and of
those of which it cannot be said (``unknown``).
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fairseq_normalign.files import open_output, read_parallel, words_of

Words = list[str]
CLAUSE_ENDS = {",", ";", ":", "-", "–"}
SHORTEST_CLAUSE, LONGEST_CLAUSE = 3, 12
SHORTEST, LONGEST = 6, 28
"""Words of a side of the pairs that are taken."""


@dataclass
class Damaged:
    """A pair with what is known of it."""

    source: Words
    target: Words
    bad: list[int] | None = None
    """Positions of target words that have no source; None where that is not known word by word."""
    unknown: list[int] = field(default_factory=list)


Pairs = Sequence[tuple[Words, Words]]
Damage = Callable[[int, Pairs, random.Random], Damaged | None]


def other_target(number: int, pairs: Pairs, chance: random.Random) -> Damaged:
    """The target of any other pair."""
    return Damaged(pairs[number][0], pairs[_another(number, pairs, chance)][1])


def target_of_same_length(number: int, pairs: Pairs, chance: random.Random) -> Damaged | None:
    """The target of another pair that has as many words."""
    length = len(pairs[number][1])
    found = [one for one, (_, target) in enumerate(pairs) if one != number and len(target) == length]
    return Damaged(pairs[number][0], pairs[chance.choice(found)][1]) if found else None


def half_replaced(number: int, pairs: Pairs, chance: random.Random) -> Damaged:
    """The first or the second half of the target is that of another pair."""
    source, target = pairs[number]
    other = pairs[_another(number, pairs, chance)][1]
    middle, cut = len(target) // 2, len(other) // 2
    if chance.random() < 0.5:
        mixed, bad = other[:cut] + target[middle:], range(cut)
    else:
        mixed, bad = target[:middle] + other[cut:], range(middle, middle + len(other) - cut)
    unknown = [place for place in bad if mixed[place] in target]  # may translate something by chance
    return Damaged(source, mixed, sorted(set(bad) - set(unknown)), unknown)


def clause_dropped(number: int, pairs: Pairs, chance: random.Random) -> Damaged | None:
    """The target lacks one of its clauses."""
    source, target = pairs[number]
    found = clauses(target)
    if not found:
        return None
    start, stop = chance.choice(found)
    return Damaged(source, target[:start] + target[stop:])


def clause_added(number: int, pairs: Pairs, chance: random.Random) -> Damaged | None:
    """The source has a clause of another pair, before its last word (mostly the full stop)."""
    source, target = pairs[number]
    order = list(range(len(pairs)))
    chance.shuffle(order)
    for other in order:
        found = clauses(pairs[other][0]) if other != number else []
        if found:
            start, stop = chance.choice(found)
            return Damaged(source[:-1] + pairs[other][0][start:stop] + source[-1:], target)
    return None


def phrase_repeated(number: int, pairs: Pairs, chance: random.Random) -> Damaged:
    """Three to six words of the target stand there twice or three times."""
    source, target = pairs[number]
    length = chance.randint(3, min(6, len(target) - 1))
    start = chance.randrange(len(target) - length)
    stop, times = start + length, chance.choice((1, 2))
    repeated = target[:stop] + target[start:stop] * times + target[stop:]
    return Damaged(source, repeated, list(range(stop, stop + length * times)))  # the first copy is the true one


def target_copied(number: int, pairs: Pairs, chance: random.Random) -> Damaged:
    """The target is the source."""
    return Damaged(pairs[number][0], list(pairs[number][0]))


def source_copied(number: int, pairs: Pairs, chance: random.Random) -> Damaged:
    """The source is the target."""
    return Damaged(list(pairs[number][1]), pairs[number][1])


def nearly_copied(number: int, pairs: Pairs, chance: random.Random) -> Damaged:
    """The target is the source, with one word in five dropped or replaced by a word of the true target."""
    source, target = pairs[number]
    near = list(source)
    for place in chance.sample(range(len(near)), max(1, len(near) // 5)):
        near[place] = "" if chance.random() < 0.5 else chance.choice(target)
    return Damaged(source, [word for word in near if word])


def half_untranslated(number: int, pairs: Pairs, chance: random.Random) -> Damaged:
    """The first or the second half of the target is that of the source."""
    source, target = pairs[number]
    middle, cut = len(target) // 2, len(source) // 2
    return Damaged(source, source[:cut] + target[middle:] if chance.random() < 0.5 else target[:middle] + source[cut:])


def other_language(number: int, pairs: Pairs, chance: random.Random) -> Damaged | None:
    """The target is its own translation into a third language (of ``--third``)."""
    source, target = pairs[number]
    found = THIRD.get(" ".join(target))
    return Damaged(source, found) if found else None


def marked(number: int, pairs: Pairs, chance: random.Random) -> Damaged | None:
    """Not damaged: a pair with the same number or the same web address on both sides."""
    source, target = pairs[number]
    if any(word[0].isdigit() for word in source + target):
        return None
    mark = str(number * 7 + 11) if number % 4 < 2 else f"www.example.org/a{number}"
    return Damaged([*source[:-1], mark, source[-1]], [*target[:-1], mark, target[-1]])


def mark_changed(number: int, pairs: Pairs, chance: random.Random) -> Damaged | None:
    """The number or the address of ``marked`` is another one in the target."""
    pair = marked(number, pairs, chance)
    if pair is None:
        return None
    mark = str(chance.randrange(1, 3000)) if number % 4 < 2 else f"www.example.org/b{chance.randrange(400)}"
    return Damaged(pair.source, [*pair.target[:-2], mark, pair.target[-1]])


THIRD: dict[str, Words] = {}
"""Target lines and their translations into a third language, in words."""

KINDS: dict[str, Damage] = {
    "a_other": other_target,
    "b_same_length": target_of_same_length,
    "c_half": half_replaced,
    "d_dropped": clause_dropped,
    "e_added": clause_added,
    "f_repeated": phrase_repeated,
    "g_copy": target_copied,
    "h_source_copy": source_copied,
    "i_near_copy": nearly_copied,
    "j_untranslated": half_untranslated,
    "k_language": other_language,
    "l_changed": mark_changed,
}
CONTROLS = {"l_changed": "true_marked"}
"""Kinds that are compared with other pairs than the true ones."""


def clauses(words: Words) -> list[tuple[int, int]]:
    """Return the parts between punctuation that are a clause by their length: [start, stop), the comma included.

    >>> clauses("i think , as you know very well , that we can do it .".split())
    [(3, 9), (9, 14)]
    """
    cuts = [0, *(place + 1 for place, word in enumerate(words[:-2]) if word in CLAUSE_ENDS), len(words) - 1]
    spans = itertools.pairwise(cuts)
    whole = [(start, stop) for start, stop in spans if SHORTEST_CLAUSE < stop - start <= LONGEST_CLAUSE]
    return whole if len(cuts) > 2 else []


def _another(number: int, pairs: Pairs, chance: random.Random) -> int:
    other = chance.randrange(len(pairs) - 1)
    return other + (other >= number)


def damaged_pairs(pairs: Pairs, seed: int) -> list[tuple[int, str, Damaged]]:
    """Return (number of the true pair, kind, pair) for the true pairs and for all that was made of them."""
    chance = random.Random(seed)
    found = []
    for number, (source, target) in enumerate(pairs):
        found.append((number, "true", Damaged(source, target, [])))
        for kind, damage in {**KINDS, "true_marked": marked}.items():
            made = damage(number, pairs, chance)
            if made is not None:
                found.append((number, kind, made))
    return found


def in_words(
    source: str, target: str, languages: Sequence[str] | None, *, lowercase: bool
) -> Iterator[tuple[Words, Words]]:
    """Give the pairs of two files in words: by Moses for two languages, or by spaces."""
    from fairseq_normalign.text.subwords import MosesTokenizer

    split = [MosesTokenizer(language) for language in languages] if languages else [words_of, words_of]
    for lines in read_parallel(source, target):
        sides = [words(line.lower() if lowercase else line) for words, line in zip(split, lines, strict=True)]
        yield sides[0], sides[1]


def read_pairs(args: argparse.Namespace) -> list[tuple[Words, Words]]:
    """Return the first pairs that are neither short nor long, in words."""
    every = in_words(args.source, args.target, args.tokenizer, lowercase=args.lowercase)
    good = (pair for pair in every if all(SHORTEST <= len(side) <= LONGEST for side in pair))
    return list(itertools.islice(good, args.pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", metavar="OUT", help="writes OUT.source, OUT.target and OUT.kinds")
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--tokenizer", nargs=2, metavar=("L1", "L2"), help="Moses for these languages; default: spaces")
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--third", nargs=2, metavar="FILE", help="target lines, and the same in a third language")
    args = parser.parse_args()
    if args.third:
        languages = [args.tokenizer[1]] * 2 if args.tokenizer else None
        for target, other in in_words(*args.third, languages, lowercase=args.lowercase):
            THIRD[" ".join(target)] = other
    found = damaged_pairs(read_pairs(args), args.seed)
    for name in ("source", "target"):
        with open_output(f"{args.output}.{name}") as handle:
            handle.writelines(f"{' '.join(getattr(pair, name))}\n" for _, _, pair in found)
    with open_output(f"{args.output}.kinds") as handle:
        for number, kind, pair in found:
            handle.write(json.dumps({"pair": number, "kind": kind, "bad": pair.bad, "unknown": pair.unknown}) + "\n")


if __name__ == "__main__":
    main()
