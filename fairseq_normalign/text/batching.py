"""Which sentences are computed together: those of like length."""

from __future__ import annotations

from collections.abc import Sequence


def batches_by_length(sizes: Sequence[tuple[int, int]], max_tokens: int) -> list[list[int]]:
    """Return the positions of pairs of like length, in batches of at most ``max_tokens`` pieces per side with padding.

    ``sizes`` are the lengths of source and target. A pair that is longer by itself is a batch by itself. Pairs are
    sorted by their longer side, so that neither side has much padding.
    """
    found: list[list[int]] = []
    longest = 0
    for position in sorted(range(len(sizes)), key=lambda position: (max(sizes[position]), sizes[position])):
        longest = max(longest, *sizes[position])
        if not found or (len(found[-1]) + 1) * longest > max_tokens:
            found.append([])
            longest = max(sizes[position])
        found[-1].append(position)
    return found
