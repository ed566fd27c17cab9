"""Which arguments of the verbs name files: no output may take the place of an input or another output. Not a verb."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from ..files import STDIO, check_distinct

OUTPUTS = {"output", "scores", "per_sentence", "figure", "html", "report", "save", "save_reverse"}
"""Arguments that are files to write."""
OF_VERBS = {"align": {"soft"}, "translate": {"links"}}
"""Verb -> arguments that are files to write for this verb; for other verbs they are files to read."""
READ_BY_VERBS = {"translate": {"html"}}
"""Verb -> arguments that are files to read for this verb; for other verbs they are files to write."""
SENTENCES = {"try": {"source", "target"}}
"""Arguments that are no files at all for some verbs."""
PREFIXES = {
    "write_words": ("source", "target"),
    "keep_to": ("source", "target"),
}
"""Arguments that are the first part of the names of several outputs, with the endings of those."""
INPUTS = {
    *("path", "reverse_path", "bpe_codes", "sentencepiece_model", "checkpoint", "source", "target", "gold", "hyp"),
    *("input", "first", "second", "links", "soft", "add", "train", "bitext", "labels", "link_scores", "evaluate"),
    *("choice", "counts", "fixed_dictionary", "lang_dict", "learn_from", "vote", "html", "check"),
}
"""Arguments that are files to read."""
MODELS = ("path", "reverse_path", "data", "reverse_data")
PARTS_OF_MODELS = (
    *("dict.*.txt", "*.safetensors", "*.bin", "*.spm", "*.model", "config.json", "generation_config.json"),
    *("tokenizer*.json", "vocab.*", "merges.txt"),
)
"""Files that are read because they stand in the folder of a model, or beside its checkpoint."""


def check_places(verb: str, args: argparse.Namespace) -> None:
    """Refuse an output in the place of an input, or of another output."""
    outputs = (OUTPUTS | OF_VERBS.get(verb, set())) - READ_BY_VERBS.get(verb, set())
    written = [getattr(args, name) for name in sorted(outputs) if getattr(args, name, None) is not None]
    for name, endings in PREFIXES.items():
        prefix = getattr(args, name, None)
        written += [f"{prefix}.{ending}" for ending in endings] if prefix is not None else []
    inputs = sorted(INPUTS - outputs - SENTENCES.get(verb, set()))
    read = [path for name in inputs for path in _paths(getattr(args, name, None))]
    check_distinct(written, [*(path for path in read if path not in ("", STDIO)), *_parts_of_models(args)])


def _paths(value: object) -> list[str]:
    """The files that an argument may name: FILE, A:B, NAME=FILE, or a list of such."""
    if isinstance(value, (list, tuple)):
        return [path for part in value for path in _paths(part)]
    if not isinstance(value, str):
        return []
    return list(dict.fromkeys([value, *value.split(":"), value.partition("=")[2]]))


def _parts_of_models(args: argparse.Namespace) -> Iterator[Path]:
    named = [path for name in MODELS for path in _paths(getattr(args, name, None)) if path]
    folders = {path if os.path.isdir(path) else os.path.dirname(path) or "." for path in named if os.path.exists(path)}
    for folder in sorted(folders):
        for pattern in PARTS_OF_MODELS:
            yield from Path(folder).glob(pattern)
