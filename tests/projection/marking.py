"""Random marked lines, and what has to hold for every marked translation. The checks know nothing of the package."""

from __future__ import annotations

import random
import re
from collections import Counter

from fairseq_normalign.projection.inserting import MarkedTarget, project_markup
from fairseq_normalign.projection.markup import parse_markup
from fairseq_normalign.projection.spans import LinkedPair
from fairseq_normalign.text.words import space_words

TAG = re.compile(r"<[^>]*>")
VOID = ("<br/>", "<br>", '<x id="7"/>', "<!-- note -->", '<img src="a.png" alt="b">')
PAIRS = ("b", "i", "a", "g", "span", "em")


def random_marked(rng: random.Random, words: list[str], pairs: int = 4, points: int = 3) -> str:
    """A line of these words with properly nested pairs at the edges of words, and void tags anywhere between them."""
    before: list[list[str]] = [[] for _ in range(len(words) + 1)]
    after: list[list[str]] = [[] for _ in range(len(words) + 1)]
    mark_range(rng, before, after, 0, len(words), rng.randint(0, pairs))
    for _ in range(rng.randint(0, points)):
        side = rng.choice((before, after))[rng.randint(0, len(words))]
        side.insert(rng.randint(0, len(side)), rng.choice((*VOID, "<b></b>", "<i><br/></i>", "<em> </em>")))
    text = "".join(after[0])
    for number, word in enumerate(words):
        gap = rng.choice((" ", " ", " ", "  ")) if number else rng.choice(("", "", " "))
        text += gap + "".join(before[number]) + word + "".join(after[number + 1])
    return text + "".join(before[len(words)])


def mark_range(rng, before, after, start, end, pairs):
    """Pairs within words ``start`` to ``end``, one inside the other or side by side."""
    for _ in range(pairs):
        if start >= end:
            return
        first = rng.randint(start, end - 1)
        last = rng.randint(first + 1, end)
        name = rng.choice(PAIRS)
        before[first].append(f'<{name} id="{rng.randint(1, 99)}">')
        after[last].insert(0, f"</{name}>")
        if rng.random() < 0.6:
            start, end = first, last  # the next one inside
        else:
            start = last


def random_tree(rng: random.Random, depth: int = 0) -> str:
    """A line of many pairs side by side and one in the other, with other names."""
    parts = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.5 and depth < 3:
            name = rng.choice("abgi") + rng.choice(("", "x", "y"))
            parts.append(f"<{name}>{random_tree(rng, depth + 1)}</{name}>")
        else:
            parts.append(rng.choice(("<br/>", "<i></i>")) if kind < 0.6 else "w")
    return " ".join(parts)


def random_links(rng: random.Random, sources: int, targets: int) -> list[tuple[int, int]]:
    """Links as aligners make them: near the diagonal, some anywhere, some words without."""
    if not sources or not targets:
        return []
    found = set()
    for source in range(sources):
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            near = round(source * targets / sources) + rng.randint(-2, 2)
            target = near if rng.random() < 0.8 else rng.randrange(targets)
            found.add((source, min(max(target, 0), targets - 1)))
    return sorted(found)


def project(line: str, target: str, links, **options) -> MarkedTarget:
    options = {"gaps": "close", **options}
    marked = parse_markup(line)
    source_words, target_words = space_words(marked.text), space_words(target)
    pair = LinkedPair(len(source_words), len(target_words), links)
    return project_markup(marked, source_words, target, target_words, pair, **options)


def bare(line: str) -> str:
    return TAG.sub("", line)


def is_nested(line: str) -> bool:
    """Whether every end tag closes the start tag that was opened last."""
    waiting = []
    for tag in TAG.findall(line):
        name = tag.strip("</>").split(" ")[0]
        if tag.startswith("</"):
            if not waiting or waiting.pop() != name:
                return False
        elif tag.endswith("/>") or tag.startswith("<!") or name in ("br", "img"):
            continue
        else:
            waiting.append(name)
    return not waiting


def check_projection(line: str, target: str, links, **options) -> MarkedTarget:
    """What the issue asks for, of one marked line and its translation."""
    result = project(line, target, links, **options)
    assert bare(result.line) == target, (line, target, links, result.line)
    assert Counter(TAG.findall(result.line)) == Counter(TAG.findall(line)), (line, target, links, result.line)
    assert is_nested(result.line), (line, target, links, result.line)
    assert result.tags == len(TAG.findall(line))
    for word in TAG.sub("\0", result.line).split(" "):
        assert not re.search("[^\0]\0+[^\0]", word), ("a word is split", line, result.line)
    return result


def enclosed(line: str, tag: str) -> list[str]:
    """The words between an opening tag, which occurs once, and its end tag."""
    inside = line[line.index(tag) + len(tag) :]
    depth, name = 1, tag.strip("<>").split(" ")[0]
    for match in TAG.finditer(inside):
        if match[0].startswith(f"</{name}"):
            depth -= 1
        elif re.match(rf"<{name}\b", match[0]) and not match[0].endswith("/>"):
            depth += 1
        if not depth:
            return bare(inside[: match.start()]).split()
    raise AssertionError(f"{tag} is never closed")
