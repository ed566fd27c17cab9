"""The arguments that align, layers and compare share, and what they mean. Not a verb."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import NormalignError, note
from ..files import STDIO
from ..links.experts import AGREEMENT_FLOOR, VOTE, VOTE_BESIDE_HMM
from ..links.symmetrize import AGREED, SOFT_SYMMETRIZATIONS, SYMMETRIZATIONS
from ..text.subwords import TOKENIZERS
from ..text.words import WORD_KINDS

if TYPE_CHECKING:
    from ..align.both_directions import BitextAligner
    from ..align.build import Setup
    from ..align.options import AlignmentOptions
    from ..hosts.options import ModelOptions
    from ..jobs import TextPair
    from ..text.options import TextOptions


def add_model_arguments(
    parser: argparse.ArgumentParser, *, several: bool = False, required: bool = True
) -> argparse._ArgumentGroup:
    """The checkpoint and where it computes. ``several``: more than one checkpoint may be given."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--path",
        required=required,
        metavar="MODEL",
        nargs="+" if several else None,
        help="fairseq checkpoint, or a folder or hub name of transformers; a.pt:b.pt is an ensemble"
        + (" (several: seeds of one set-up)" if several else ""),
    )
    group.add_argument("--data", metavar="DIR", help="directory of the dictionaries (default: the checkpoint's)")
    add_task_arguments(group)
    group.add_argument("--cpu", action="store_true", help="use no GPU")
    group.add_argument("--threads", type=positive, metavar="N", help="threads of each process on CPU")
    precision = group.add_mutually_exclusive_group()
    precision.add_argument("--fp16", action="store_true", help="run the model in half precision (norms: float32)")
    precision.add_argument("--bf16", action="store_true", help="run the model in bfloat16 (norms: float32)")
    group.add_argument(
        "--max-tokens", type=positive, default=4000, metavar="N", help="pieces in a batch, a side, with padding (4000)"
    )
    return group


def add_task_arguments(group: argparse._ArgumentGroup) -> None:
    """Languages and what else a multilingual checkpoint may need, under the names of fairseq's own flags."""
    group.add_argument(
        "--source-lang", metavar="L", help="where neither checkpoint nor data say it, and of a multilingual model"
    )
    group.add_argument("--target-lang", metavar="L")
    group.add_argument("--fixed-dictionary", metavar="FILE", help="multilingual: the dictionary of all languages")
    group.add_argument("--lang-dict", metavar="FILE", help="multilingual: its languages, one per line, in their order")
    group.add_argument("--lang-pairs", metavar="PAIRS", help="multilingual: its directions, as a list or a file")
    group.add_argument(
        "--user-dir", metavar="DIR", action="append", default=[], help="code of an architecture or task; repeatable"
    )


def task_options(args: argparse.Namespace) -> dict[str, str]:
    """What is given in place of what the checkpoint says."""
    given = {name: getattr(args, name) for name in ("fixed_dictionary", "lang_dict", "lang_pairs")}
    return {name: value for name, value in given.items() if value is not None}


def load_user_dirs(args: argparse.Namespace) -> None:
    """Import the code that the user has for fairseq."""
    if args.user_dir:
        from ..hosts.fairseq.patches import import_user_dirs

        import_user_dirs(args.user_dir)


SYMMETRIZATION = "agreed-grow-diag"
"""How two directions are combined where nothing else is asked for."""


def add_reverse_arguments(parser: argparse.ArgumentParser, *, several: bool = False) -> argparse._ArgumentGroup:
    """The model of the other direction."""
    group = parser.add_argument_group("the other direction")
    group.add_argument(
        "--reverse-path",
        metavar="CKPT",
        nargs="+" if several else None,
        help="checkpoint that translates target to source",
    )
    group.add_argument("--reverse-data", metavar="DIR", help="its dictionaries (default: beside it)")
    group.add_argument("--reverse", action="store_true", help="the same multilingual checkpoint, the other way round")
    return group


def add_symmetrize_argument(group: argparse._ArgumentGroup) -> None:
    """How what two directions say becomes one alignment."""
    group.add_argument(
        "--symmetrize",
        choices=(*SYMMETRIZATIONS, *SOFT_SYMMETRIZATIONS),
        metavar="WAY",
        help=f"how two directions are combined: {', '.join(SYMMETRIZATIONS)}; with '{AGREED}' in front the soft "
        f"alignments are multiplied first ({SYMMETRIZATION})",
    )


def add_text_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The bitext, as two files or as one, and how its lines become words and pieces; :func:`check_sides` checks it."""
    group = parser.add_argument_group("text")
    group.add_argument("--source", metavar="FILE", help="source sentences, one a line ('-': standard input)")
    group.add_argument("--target", metavar="FILE", help="target sentences ('-': standard input)")
    group.add_argument("--bitext", metavar="FILE", help="both, with ' ||| ' or a tab between, instead")
    add_splitting_arguments(group)
    return group


def check_sides(args: argparse.Namespace) -> None:
    """Refuse a text of which one side is missing, or that is given twice."""
    if args.bitext and (args.source or args.target):
        raise NormalignError("--bitext holds both sides: leave --source and --target out")
    if not args.bitext and not (args.source and args.target):
        raise NormalignError("the text is needed: --source FILE and --target FILE, or --bitext FILE")


def given_text(args: argparse.Namespace) -> tuple[str, str | None]:
    """Return the files of the text: source and target, or the one that holds both and None."""
    return (args.bitext, None) if args.bitext else (args.source, args.target)


def from_stdin(args: argparse.Namespace) -> bool:
    """Whether standard input is a side of the text, so that it can be read only once."""
    return STDIO in (args.source, args.target, args.bitext)


def add_splitting_arguments(group: argparse._ArgumentGroup, *, words: bool = True) -> None:
    """How lines become words and pieces; a model of transformers needs none of the files. ``words``: --words too."""
    group.add_argument(
        "--bpe-codes",
        nargs="+",
        default=[],
        metavar="FILE",
        help="subword-nmt or fastBPE codes: of both sides, or source target",
    )
    group.add_argument(
        "--sentencepiece-model",
        nargs="+",
        default=[],
        metavar="FILE",
        help="SentencePiece: of both sides, or source target",
    )
    group.add_argument("--tokenizer", choices=TOKENIZERS, help="lines are raw text; links count the words it makes")
    if words:
        group.add_argument(
            "--words",
            choices=WORD_KINDS,
            help="what links count in natural text (the words of --tokenizer, or those that spaces separate)",
        )
    group.add_argument("--lowercase", action="store_true", help="lower-case the words first")


def add_null_arguments(group: argparse._ArgumentGroup) -> None:
    """What is no word."""
    group.add_argument(
        "--null",
        choices=("best", "unaligned"),
        default="best",
        help="when the end of sentence or a tag wins: link the best word, or leave the word unaligned (best)",
    )
    group.add_argument("--tags", metavar="REGEX", help="pattern of language tags in front of a sentence")


MOST_THREADS = 1024


def prepare_torch(args: argparse.Namespace) -> None:
    """Make results independent of the number of threads; to be called before torch is imported."""
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it
    import torch

    from ..half_precision import prepare_cpu

    if args.threads is not None:
        if args.threads > MOST_THREADS:
            raise NormalignError(f"--threads {args.threads}: at most {MOST_THREADS}, and best the number of cores")
        torch.set_num_threads(args.threads)
    precision = _precision(args)
    if precision and (args.cpu or not torch.cuda.is_available()):
        prepare_cpu(precision, started=False)
    load_user_dirs(args)
    settle_reverse(args)


def _precision(args: argparse.Namespace) -> str | None:
    return "fp16" if args.fp16 else "bf16" if args.bf16 else None


def settle_reverse(args: argparse.Namespace) -> None:
    """--reverse names the same checkpoint for the other direction."""
    if not getattr(args, "reverse", False):
        return
    if args.reverse_path:
        raise NormalignError("--reverse uses the checkpoint of --path the other way round; leave --reverse-path out")
    args.reverse_path, args.reverse_data = args.path, args.data


def positive(text: str) -> int:
    """An argument that is a whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def method_list(text: str, *, layerwise: bool = False) -> list[str]:
    """'norms,weights', or 'all' for every method there is (``layerwise``: that can be read at single layers)."""
    from ..methods import METHODS, method_class

    if text == "all":
        return [name for name, method in METHODS.items() if method.layerwise or not layerwise]
    names = [name for name in text.split(",") if name]
    for name in names:
        method_class(name)
    if not names:
        raise NormalignError(f"--methods names no method; choose some of {', '.join(METHODS)}, or all")
    return list(dict.fromkeys(names))


def bitext_aligner(
    args: argparse.Namespace,
    options: AlignmentOptions | None = None,
    *,
    method: str = "norms",
    path: str | None = None,
    reverse_path: str | None = None,
    level: str = "word",
    combine: str = "grow-diag",
) -> BitextAligner:
    """Return the models at --path and --reverse-path, or at ``path`` and ``reverse_path``, ready to align."""
    from ..align.options import AlignmentOptions
    from ..text.tags import TAGS

    options = options or AlignmentOptions(method=method, null=args.null, tags=args.tags or TAGS)
    return setup_of(args, options, path=path, reverse_path=reverse_path, level=level, combine=combine).load()


def setup_of(
    args: argparse.Namespace,
    options: AlignmentOptions,
    *,
    path: str | None = None,
    reverse_path: str | None = None,
    level: str = "word",
    combine: str = "grow-diag",
) -> Setup:
    """Return what the models at --path and --reverse-path, or at ``path`` and ``reverse_path``, are loaded from."""
    from ..align.build import Setup

    reverse = reverse_path if path else args.reverse_path
    device = "cpu" if args.cpu else "auto"
    return Setup(
        replace(model_options(args, path or args.path), device=device),
        replace(model_options(args, reverse, reverse=True), device=device) if reverse else None,
        text_options(args),
        options,
        max_tokens=args.max_tokens,
        level=level,
        combine=combine,
        floor=AGREEMENT_FLOOR if getattr(args, "floor", None) is None else args.floor,
        vote=getattr(args, "vote_weight", None) or (VOTE_BESIDE_HMM if getattr(args, "learn", False) else VOTE),
        user_dirs=tuple(args.user_dir),
    )


MANY_UNKNOWN = 0.3
"""A larger share of unknown pieces is a sign that text, codes and model do not belong together."""


def warn_of_unknown_pieces(name: str, aligner: BitextAligner) -> None:
    """Say so when many of the pieces that were encoded so far are unknown."""
    counts: dict[str, int] = {}
    for side, encoder in (("source", aligner.forward.host.source), ("target", aligner.forward.host.target)):
        counts |= {f"{side} pieces": encoder.seen, f"unknown {side} pieces": encoder.unknown}
    report_unknown_pieces(name, counts)


def report_unknown_pieces(name: str, counts: Mapping[str, int]) -> None:
    """Say so when many pieces are unknown: codes or a dictionary of another model make nonsense without an error."""
    for side in ("source", "target"):
        seen, unknown = counts.get(f"{side} pieces", 0), counts.get(f"unknown {side} pieces", 0)
        if unknown > MANY_UNKNOWN * seen:
            note(
                f"{name}: warning: {unknown} of {seen} {side} pieces are not in the dictionary; "
                "are text, codes and dictionary those it was trained with?"
            )


ADVICE = {
    "cased": "if it was trained on lower-case text, add --lowercase",
    "glued": "if the text is not tokenized, add --tokenizer moses",
    "turned": "are --source and --target, or --path and --reverse-path, the wrong way round?",
    "same way": "is --reverse-path a model of the other direction?",
}
"""What to do about each kind of doubt."""


def warn_of_text(name: str, aligner: BitextAligner, pairs: Sequence[TextPair]) -> None:
    """Say what in the first of these pairs does not suit the model, and what to add."""
    from ..align.doubts import doubts_of_both

    for doubt in doubts_of_both(aligner, pairs):
        note(f"{name}: warning: {doubt.text}; {ADVICE[doubt.kind]}")


def model_options(args: argparse.Namespace, path: str, *, reverse: bool = False) -> ModelOptions:
    """The model at ``path``; ``reverse``: it is that of the other direction."""
    from ..align.build import own_device
    from ..hosts.options import ModelOptions

    languages = (args.source_lang, args.target_lang)
    return ModelOptions(
        path=path,
        data=args.reverse_data if reverse else args.data,
        source_lang=languages[1] if reverse else languages[0],
        target_lang=languages[0] if reverse else languages[1],
        device="cpu" if args.cpu else own_device(),
        precision=_precision(args),
        task_options=task_options(args),
    )


def text_options(args: argparse.Namespace) -> TextOptions:
    """How lines become pieces."""
    from ..text.options import TextOptions

    return TextOptions(
        tuple(args.bpe_codes),
        tuple(args.sentencepiece_model),
        args.tokenizer,
        args.lowercase,
        getattr(args, "words", None),
    )
