"""Fonts that have the letters, and text in the order in which it is drawn."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from types import ModuleType

from ..errors import MissingExtra

FAMILIES = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Noto Sans SC",
    "Source Han Sans",
    "Hiragino Sans",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "MS Gothic",
    "SimHei",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "IPAexGothic",
    "IPAGothic",
    "TakaoGothic",
    "AR PL UMing CN",
    "Arial Unicode MS",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Emoji",
)
"""Families that are tried letter by letter, in this order; those that are not installed are passed over."""

_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


def usable_families() -> list[str]:
    """The families of :data:`FAMILIES` that are installed; the first comes with matplotlib."""
    manager = _font_manager()
    known = {entry.name for entry in manager.fontManager.ttflist}
    return [family for family in FAMILIES if family in known]


def missing_letters(texts: Iterable[str], families: Iterable[str]) -> str:
    """The letters of ``texts`` that none of the families has, each once, sorted."""
    manager = _font_manager()
    from matplotlib.ft2font import FT2Font

    left = {letter for text in texts for letter in text if not letter.isspace()}
    for family in families:
        if not left:
            break
        font = FT2Font(manager.findfont(manager.FontProperties(family=family), fallback_to_default=False))
        left -= {letter for letter in left if font.get_char_index(ord(letter))}
    return "".join(sorted(left))


def note_on_missing(letters: str) -> str:
    """One line for the user about letters that no installed font has."""
    shown = "".join(letters[:12]) + ("…" if len(letters) > 12 else "")
    wide = any(unicodedata.east_asian_width(letter) in "WF" for letter in letters)
    advice = "install a CJK font such as Noto Sans CJK" if wide else "install a font that has them, such as Noto Sans"
    return f"no installed font has the letters {shown}: the figure shows boxes; {advice}"


def drawn_text(text: str) -> str:
    """The word as matplotlib has to get it.

    From 3.11 on matplotlib orders and joins letters itself. Older ones draw them from left to right as they come: a
    word with right-to-left letters is then turned here, numbers and Latin in it kept, its brackets mirrored; Arabic
    letters stay unjoined.
    """
    _font_manager()
    from matplotlib import ft2font

    return text if hasattr(ft2font, "__libraqm_version__") else visual_order(text)


def visual_order(word: str) -> str:
    """A word without spaces in the order in which its letters stand from left to right."""
    clusters = _clusters(word)
    if not any(_direction(cluster) == "R" for cluster in clusters):
        return word
    runs: list[tuple[str, list[str]]] = []
    for cluster in clusters:
        side = _direction(cluster)
        kind = side if side in "LR" else ""
        if runs and (runs[-1][0] == kind or not kind):
            runs[-1][1].append(cluster)
        else:
            runs.append((kind, [cluster]))
    ordered = []
    for kind, run in reversed(runs):
        if kind == "L":
            ordered.append("".join(run))
        else:
            ordered.append("".join(cluster.translate(_MIRRORED) for cluster in reversed(run)))
    return "".join(ordered)


def _clusters(word: str) -> list[str]:
    """Letters with the marks that stand on them."""
    clusters: list[str] = []
    for letter in word:
        if clusters and unicodedata.combining(letter):
            clusters[-1] += letter
        else:
            clusters.append(letter)
    return clusters


def _direction(cluster: str) -> str:
    """'R', 'L' (Latin and numbers) or 'N'."""
    kind = unicodedata.bidirectional(cluster[0])
    if kind in ("R", "AL"):
        return "R"
    return "L" if kind in ("L", "EN", "AN") else "N"


def _font_manager() -> ModuleType:
    try:
        from matplotlib import font_manager
    except ImportError:
        raise MissingExtra("matplotlib", "plots", "a figure") from None
    return font_manager
