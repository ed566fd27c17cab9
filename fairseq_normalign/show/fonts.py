"""Fonts that have the letters of a text, and words in the order in which they are drawn."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

FAMILIES = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC"),
    *("Source Han Sans", "Hiragino Sans", "PingFang SC", "Yu Gothic", "Microsoft YaHei", "MS Gothic", "SimHei"),
    *("WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "IPAexGothic", "IPAGothic", "TakaoGothic", "AR PL UMing CN"),
    *("Arial Unicode MS", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai"),
    "Noto Emoji",
)
"""Families that are tried for each letter, in this order; those that are not installed are skipped."""

_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


def usable_families() -> list[str]:
    """Return the families of :data:`FAMILIES` that are installed; the first comes with matplotlib."""
    from matplotlib import font_manager

    known = {entry.name for entry in font_manager.fontManager.ttflist}
    return [family for family in FAMILIES if family in known]


def missing_letters(texts: Iterable[str], families: Iterable[str]) -> str:
    """Return the letters of ``texts`` that none of the families has, each once, sorted."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    left = {letter for text in texts for letter in text if not letter.isspace()}
    for family in families:
        if not left:
            break
        properties = font_manager.FontProperties(family=family)
        font = FT2Font(font_manager.findfont(properties, fallback_to_default=False))
        left -= {letter for letter in left if font.get_char_index(ord(letter))}
    return "".join(sorted(left))


def note_on_missing(letters: str) -> str:
    """Return one line for the user about letters that no installed font has."""
    shown = "".join(letters[:12]) + ("…" if len(letters) > 12 else "")
    wide = any(unicodedata.east_asian_width(letter) in "WF" for letter in letters)
    advice = "install a CJK font such as Noto Sans CJK" if wide else "install a font that has them, such as Noto Sans"
    return f"no installed font has the letters {shown}: the figure shows boxes; {advice}"


def clusters(word: str) -> list[str]:
    r"""Return the letters of a word, each together with the marks that stand on it.

    >>> [len(cluster) for cluster in clusters("ae\u0301")]
    [1, 2]
    """
    found: list[str] = []
    for letter in word:
        mark = unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me")
        if found and mark:
            found[-1] += letter
        else:
            found.append(letter)
    return found


def drawn_text(word: str) -> str:
    """Return the word in the order that matplotlib needs.

    matplotlib orders and joins letters itself from 3.11 on. Older versions draw the letters from left to right as they
    come, so that a word with right-to-left letters has to be turned; its Arabic letters stay unjoined.
    """
    from matplotlib import ft2font

    return word if hasattr(ft2font, "__libraqm_version__") else visual_order(word)


def visual_order(word: str) -> str:
    """Return a word without spaces in the order in which its letters stand from left to right.

    Numbers and Latin letters in a right-to-left word keep their order, and its brackets are mirrored.

    >>> visual_order("(טוב)") == "(בוט)"
    True
    """
    runs: list[tuple[str, list[str]]] = []  # 'R', 'L' (Latin letters and numbers) or '', with the letters in order
    for cluster in clusters(word):
        side = unicodedata.bidirectional(cluster[0])
        kind = "R" if side in ("R", "AL") else "L" if side in ("L", "EN", "AN") else ""
        if runs and (runs[-1][0] == kind or not kind):
            runs[-1][1].append(cluster)
        else:
            runs.append((kind, [cluster]))
    if all(kind != "R" for kind, _ in runs):
        return word
    return "".join(
        "".join(run if kind == "L" else [cluster.translate(_MIRRORED) for cluster in reversed(run)])
        for kind, run in reversed(runs)
    )
