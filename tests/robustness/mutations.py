"""Damage to files, by chance that can be repeated: the same seed makes the same damage."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

NUMBERS = [b"0", b"-1", b"1", b"7", b"255", b"65536", b"2147483648", b"9223372036854775808", b"1" + b"0" * 30]
NUMBERS += [b"1e999", b"-1e999", b"NaN", b"Infinity", b"0.5", b"1" * 400, b"00", b"+1", b"1_0", "١".encode(), b"null"]
TOKENS = [
    *(
        b"\n",
        b"\r\n",
        b"\r",
        b"\t",
        b" ",
        b"  ",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\xc2\x85",
        b"\xc2\xa0",
    ),
    *(
        b"-",
        b"p",
        b"0-0",
        b"1-1",
        b"3p4",
        b"S",
        b"P",
        b"SENT:",
        b"A-0\t",
        b"H-0\t-1\t",
        b"S-0\t",
        b"#version: 0.2",
        b"@@",
    ),
    *(
        b"</w>",
        "▁".encode(),
        b"[",
        b"]",
        b"{",
        b"}",
        b'"',
        b",",
        b":",
        b"[" * 3000,
        b"../x",
        b"/etc/passwd",
        b"\\ud800",
    ),
    *(b"<script>", b"\x1b[2J", b"<unk>", b"#fairseq:overwrite", b"true", b"__import__('os')"),
]

Mutation = Callable[[bytes, random.Random], bytes]


def _flip_bit(content: bytes, chance: random.Random) -> bytes:
    if not content:
        return b"\0"
    changed = bytearray(content)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut_end(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randint(0, len(content))]


def _span(content: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randint(0, len(content))
    return start, min(len(content), start + chance.choice((1, 2, 4, 16, 200)))


def _remove(content: bytes, chance: random.Random) -> bytes:
    start, stop = _span(content, chance)
    return content[:start] + content[stop:]


def _repeat(content: bytes, chance: random.Random) -> bytes:
    start, stop = _span(content, chance)
    return content[:stop] + content[start:stop] * chance.choice((1, 2, 50)) + content[stop:]


def _insert_token(content: bytes, chance: random.Random) -> bytes:
    place = chance.randint(0, len(content))
    return content[:place] + chance.choice(TOKENS) + content[place:]


def _insert_noise(content: bytes, chance: random.Random) -> bytes:
    place = chance.randint(0, len(content))
    return content[:place] + chance.randbytes(chance.choice((1, 3, 40))) + content[place:]


def _change_number(content: bytes, chance: random.Random) -> bytes:
    numbers = list(re.finditer(rb"[0-9]+(\.[0-9]+)?", content[:20_000]))
    if not numbers:
        return _insert_token(content, chance)
    found = chance.choice(numbers)
    return content[: found.start()] + chance.choice(NUMBERS) + content[found.end() :]


def _shuffle_lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _drop_line(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


def _double_line(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    place = chance.randrange(len(lines))
    return b"\n".join([*lines[:place], *[lines[place]] * chance.choice((2, 3, 30)), *lines[place + 1 :]])


MUTATIONS: Sequence[Mutation] = (
    *(_flip_bit, _cut_end, _remove, _repeat, _insert_token, _insert_noise, _change_number, _change_number),
    *(_shuffle_lines, _drop_line, _double_line),
)


def mutated(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """One of the seeds after one to four mutations, or two seeds spliced."""
    content = chance.choice(seeds)
    if chance.random() < 0.05:
        other = chance.choice(seeds)
        content = content[: chance.randint(0, len(content))] + other[chance.randint(0, len(other)) :]
    for _ in range(chance.choice((1, 1, 2, 4))):
        content = chance.choice(MUTATIONS)(content, chance)
    return content
