"""The gold's text and links, and the models of both directions as they read it: what several steps measure with."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_normalign import load, read_gold
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import read_parallel
from fairseq_normalign.interface import AlignmentModel
from fairseq_normalign.links.gold import Gold
from fairseq_normalign.links.score import score

Pairs = list[tuple[str, str]]


def add_gold_arguments(parser: argparse.ArgumentParser, *, any_host: bool = False) -> None:
    """``any_host``: models that are not of fairseq need neither dictionaries nor languages."""
    required = not any_host
    parser.add_argument("--data", type=Path, required=required, help="folder of the dictionaries")
    parser.add_argument("--languages", nargs=2, required=required, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--text", type=Path, nargs=2, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--bpe-codes", nargs="+")
    parser.add_argument("--sentencepiece-model", nargs="+")


def read_gold_text(args: argparse.Namespace) -> tuple[Pairs, list[Gold]]:
    """The pairs of the gold's text, and the gold links of each."""
    pairs = list(read_parallel(*args.text))
    golds = read_gold(args.gold, source=args.text[0], target=args.text[1])
    if len(golds) != len(pairs):
        raise NormalignError(f"{args.gold}: {len(golds)} sentences, {args.text[0]} has {len(pairs)}")
    return pairs, golds


def load_both(args: argparse.Namespace, paths: Sequence[Path | str], **options: Any) -> AlignmentModel:
    """The models of both directions, or of one; ``options`` are further arguments of ``load``."""
    source, target = args.languages or (None, None)
    return load(
        paths[0],
        reverse=paths[1] if len(paths) > 1 else None,
        data=args.data,
        reverse_data=args.data,
        source_lang=source,
        target_lang=target,
        bpe_codes=args.bpe_codes,
        sentencepiece_model=args.sentencepiece_model,
        **options,
    )


def error_rates(golds: Sequence[Gold], links: Sequence[Sequence[tuple[int, int]]]) -> tuple[float, float, float]:
    """AER in percent of all sentences, of the odd and of the even ones, counted from 1."""
    parts = [slice(None), slice(0, None, 2), slice(1, None, 2)]
    whole, odd, even = (100 * score(golds[part], links[part]).aer for part in parts)
    return whole, odd, even
