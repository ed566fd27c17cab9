"""How the looks of a model, their product and two directions are called in pictures, tables and on the page."""

from __future__ import annotations

from .experts import Expert
from .readings import Reading

TWO_LOOKS = "two looks"
REVERSED = "the other direction"
BOTH = "both directions"


def look_name(reading: Reading) -> str:
    """Return how one look is called in pictures and on the page.

    >>> look_name(Reading("norms", 0, 1, "awi"))
    'AWI look (norms 1.2)'
    """
    head = "" if reading.head is None else f".{reading.head + 1}"
    return f"{reading.step.upper()} look ({reading.method} {reading.layer + 1}{head})"


def product_name(expert: Expert) -> str:
    """Return how the product of an expert's readings is called: 'two looks', or the look itself if it is one.

    >>> product_name(Expert((Reading("norms", 0, 1, "awi"), Reading("norms", 2, None, "awo")), (1.0, 1.0)))
    'two looks'
    """
    if len(expert.readings) == 1:
        return look_name(expert.readings[0])
    return TWO_LOOKS if len(expert.readings) == 2 else f"{len(expert.readings)} looks"
