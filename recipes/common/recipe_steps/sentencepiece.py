"""Train a SentencePiece model on a text, or split a text with one. Resumable like the tokenizer."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from fairseq_normalign.errors import MissingExtra, NormalignError
from fairseq_normalign.files import read_lines, words_of
from fairseq_normalign.text.subwords import SentencePiece

from .tokenize import whole_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--train", type=int, metavar="SIZE", help="make a model of so many pieces")
    parser.add_argument("--output", type=Path, help="write the text in pieces")


def run(args: argparse.Namespace) -> None:
    if args.train:
        train(args.text, args.model, args.train)
    if args.output:
        split(args.text, args.model, args.output)


def train(text: Path, model: Path, size: int) -> None:
    try:
        import sentencepiece
    except ImportError:
        raise MissingExtra("sentencepiece", "sentencepiece", "a SentencePiece model") from None
    unfinished = model.with_name(model.name + ".part")
    try:
        sentencepiece.SentencePieceTrainer.train(
            input=str(text),
            model_prefix=str(unfinished),
            vocab_size=size,
            character_coverage=1.0,
            hard_vocab_limit=False,
            input_sentence_size=2_000_000,
            shuffle_input_sentence=True,
            normalization_rule_name="identity",  # the words must stay those that the gold counts
            minloglevel=2,
        )
    except RuntimeError as error:
        raise NormalignError(f"{text}: SentencePiece cannot make {size} pieces of it ({error})") from None
    unfinished.with_name(unfinished.name + ".vocab").unlink(missing_ok=True)
    unfinished.with_name(unfinished.name + ".model").rename(model)


def split(text: Path, model: Path, output: Path) -> None:
    pieces = SentencePiece(model)
    part = output.with_name(output.name + ".part")
    lines = itertools.islice(read_lines(text), whole_lines(part), None)
    with open(part, "a", encoding="utf-8", newline="\n") as out:
        out.writelines(" ".join(pieces(words_of(line))) + "\n" for line in lines)
    part.rename(output)
