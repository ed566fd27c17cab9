"""The languages of a model, as its tokenizer writes them: ``deu_Latn`` (NLLB), ``de_DE`` (mBART), ``de`` (M2M100), ...

A model for many languages is told the source language by a piece beside the source, and the target language by a piece
that the decoder starts with (NLLB, M2M100, mBART) or that stands in front of the source (OPUS-MT with several target
languages, MADLAD, T5).
"""

from __future__ import annotations

import difflib
import re
from typing import Any

from ...errors import NormalignError
from .text import Tokenizer

CODE = re.compile(r"[a-z]{2,3}_[A-Za-z]{2,4}")
"""A language code where a tokenizer only lists its special pieces."""


def language_codes(tokenizer: Any) -> dict[str, int]:
    """Return the languages that a tokenizer marks by a piece of its own, and the index of that piece."""
    if not (hasattr(tokenizer, "src_lang") and hasattr(tokenizer, "prefix_tokens")):
        return {}
    known = getattr(tokenizer, "lang_code_to_id", None)
    if known:
        return dict(known)
    return {
        piece: tokenizer.convert_tokens_to_ids(piece) for piece in tokenizer.all_special_tokens if CODE.fullmatch(piece)
    }


def set_languages(tokenizer: Any, source: str | None, target: str | None, name: str) -> dict[str, int]:
    """Tell the tokenizer which languages it is about; return those it marks by a piece (none: an empty dict)."""
    codes = language_codes(tokenizer)
    if not codes:
        return {}
    for side, language in (("source", source), ("target", target)):
        if language not in codes:
            raise NormalignError(f"{name}: {_complaint(side, language, codes)}")
    tokenizer.src_lang, tokenizer.tgt_lang = source, target
    return codes


def _complaint(side: str, language: str | None, codes: dict[str, int]) -> str:
    some = ", ".join(list(codes)[:5])
    if language is None:
        return f"a model for {len(codes)} languages: its {side} language has to be given ({some}, ...)"
    near = difflib.get_close_matches(language, codes, n=3, cutoff=0.3)
    near += [code for code in codes if code.startswith(language[:2]) and code not in near][:3]
    return f"no {side} language '{language}'; did you mean {', '.join(near) or some}?"


def front_of_source(tokenizer: Tokenizer, config: Any, source: str | None, target: str | None, name: str) -> list[int]:
    """Return the pieces in front of the source that name the target language; none where the model needs none."""
    if target is None:
        return []
    for tag in (f">>{target}<<", f"<2{target}>"):
        index = tokenizer.index(tag)
        if index != tokenizer.unknown:
            return [index]
    supported = getattr(tokenizer.host, "supported_language_codes", None)
    if supported:
        near = ", ".join(tag.strip("<>") for tag in supported[:5])
        raise NormalignError(f"{name}: no target language '{target}'; this model has {near}, ...")
    tasks = getattr(config, "task_specific_params", None) or {}
    prefix = (tasks.get(f"translation_{source}_to_{target}") or {}).get("prefix")
    return tokenizer(prefix.strip())[1] if prefix else []


def start_of_target(config: Any, generation: Any, target: Tokenizer, code: int | None, codes: dict[str, int]) -> tuple:
    """Return what the decoder is given before the first piece.

    ``code``: the index of the target language, if it has a piece of its own. mBART's first models start with it alone,
    later ones with the end of sentence and then the language.
    """
    first = next(
        (
            value
            for value in (getattr(options, "decoder_start_token_id", None) for options in (generation, config))
            if value is not None
        ),
        None,
    )
    if code is not None:
        return (code,) if first is None or first in codes.values() else (first, code)
    if first is None:
        raise NormalignError("the model does not say what its decoder starts with (decoder_start_token_id)")
    return first, *target.specials.front


def languages_of(
    tokenizer: Any, config: Any, source: str | None, target: str | None, name: str
) -> tuple[str | None, str | None]:
    """Return the two languages: as they are given, or else as the model says. FSMT has one pair and no other."""
    pair = getattr(config, "langs", None)
    if not (isinstance(pair, list | tuple) and len(pair) == 2):
        pair = (getattr(tokenizer, "source_lang", None), getattr(tokenizer, "target_lang", None))
    elif any(given not in (None, own) for given, own in zip((source, target), pair, strict=True)):
        raise NormalignError(f"{name}: translates {pair[0]} to {pair[1]}, not {source} to {target}")
    return source or pair[0], target or pair[1]
