"""Tiny checkpoints of the shapes that are published for fairseq, trained and run by fairseq's own commands, in process.

Each shape has two pieces per long word, language tags as its task feeds them, and 20 test sentences: with batches of 8,
fairseq alone would lose the last four.
"""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from fairseq.tasks import register_task
from fairseq.tasks.translation_from_pretrained_bart import TranslationFromPretrainedBARTTask

from fairseq_normalign.hosts.fairseq.model import make_readable
from fairseq_normalign.hosts.fairseq.patches import register

register()

TINY = [
    *("--encoder-layers", "1", "--decoder-layers", "2", "--encoder-embed-dim", "16", "--decoder-embed-dim", "16"),
    *("--encoder-ffn-embed-dim", "16", "--decoder-ffn-embed-dim", "16", "--dropout", "0", "--attention-dropout", "0"),
    *("--encoder-attention-heads", "2", "--decoder-attention-heads", "2"),
    *("--optimizer", "adam", "--lr", "0.02", "--max-tokens", "600", "--num-workers", "0", "--seed", "1"),
    *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1", "--max-update", "40"),
    *("--no-progress-bar", "--log-interval", "100", "--cpu", "--disable-validation", "--no-epoch-checkpoints"),
    *("--save-interval", "1000"),  # at the end alone
]


@dataclass(frozen=True)
class Shape:
    """A checkpoint with its data, and the flags its README gives for generation."""

    data: Path
    checkpoint: Path
    task: str
    source: str
    target: str
    flags: Sequence[str] = ()
    post_process: str = "sentencepiece"
    options: dict[str, str] = field(default_factory=dict)
    """What the Python interface is given beside path, data and languages."""


def make_shape(name: str, folder: Path) -> Shape:
    """Train the shape ``name`` in ``folder``."""
    return SHAPES[name](folder)


def m2m(folder: Path, languages: tuple[str, str] = ("de", "en"), flags: Sequence[str] = ()) -> Shape:
    """M2M-100: tags in front of both sides, one dictionary for all languages."""
    data = binarize(folder, languages)
    pairs = [f"{languages[0]}-{languages[1]}", f"{languages[1]}-{languages[0]}"]
    flags = ["--lang-pairs", ",".join(pairs), "--encoder-langtok", "src", "--decoder-langtok", *flags]
    task = "translation_multi_simple_epoch"
    fixed = ["--fixed-dictionary", str(folder / "dict.txt")]
    checkpoint = train(data, folder / "out", "--task", task, "--arch", "transformer", *TEMPERATURE, *fixed, *flags)
    return Shape(data, checkpoint, task, *languages, [*flags, *fixed])


TEMPERATURE = ["--sampling-method", "temperature", "--sampling-temperature", "1.5", "--share-all-embeddings"]


def nllb(folder: Path) -> Shape:
    """NLLB: languages with their scripts, listed in an order of their own."""
    return m2m(folder, ("deu_Latn", "eng_Latn"), ["--langs", "eng_Latn,fra_Latn,deu_Latn"])


def replacing(folder: Path) -> Shape:
    """Tags instead of the source's end and of the start symbol."""
    return m2m(folder, flags=["--lang-tok-replacing-bos-eos"])


def mbart50(folder: Path) -> Shape:
    """mBART-50: tags as mBART writes them, languages from a file."""
    (folder / "ML50_langs.txt").write_text("ar_AR\nde_DE\nen_XX\n", encoding="utf-8")
    data = binarize(folder, ("de_DE", "en_XX"))
    flags = ["--encoder-langtok", "src", "--decoder-langtok", "--lang-tok-style", "mbart"]
    flags += ["--lang-dict", str(folder / "ML50_langs.txt"), "--lang-pairs", "de_DE-en_XX,en_XX-de_DE"]
    task = "translation_multi_simple_epoch"
    checkpoint = train(data, folder / "out", "--task", task, "--arch", "mbart_base", *TEMPERATURE, *flags)
    return Shape(data, checkpoint, task, "de_DE", "en_XX", flags)


def mbart_cc25(folder: Path) -> Shape:
    """mBART finetuned for one direction: the source ends in its tag, the decoder starts and ends with the target's."""
    data = binarize(folder, ("de_DE", "en_XX"))
    flags = ["--langs", "ar_AR,de_DE,en_XX"]
    task = "translation_from_pretrained_bart"
    way = ["-s", "de_DE", "-t", "en_XX", "--task", REPAIRED]
    checkpoint = train(data, folder / "out", *way, "--arch", "mbart_base", "--share-all-embeddings", *flags)
    rename_task(checkpoint, task)
    return Shape(data, checkpoint, task, "de_DE", "en_XX", flags)


REPAIRED = "repaired_pretrained_bart"
"""``translation_from_pretrained_bart`` with the line that fairseq lost; the stock task ends in an AttributeError."""


@register_task(REPAIRED)
class RepairedPretrainedBart(TranslationFromPretrainedBARTTask):
    """The oracle for mBART."""

    def __init__(self, args, *others) -> None:
        self.args = args
        super().__init__(args, *others)


def rename_task(checkpoint: Path, name: str) -> None:
    """Let the checkpoint say that it was trained with another task."""
    state = torch.load(checkpoint, weights_only=False)
    for group in ("task", "model"):
        state["cfg"][group].task = name
        state["cfg"][group]._name = name if group == "task" else state["cfg"][group]._name
    torch.save(state, checkpoint)


def multilingual(folder: Path) -> Shape:
    """multilingual_translation: the target's tag at the end of the source and as the start symbol."""
    data = binarize(folder, ("de", "en"))
    flags = ["--lang-pairs", "de-en,en-de", "--encoder-langtok", "tgt", "--decoder-langtok"]
    task = "multilingual_translation"
    arch = ["--arch", "multilingual_transformer", "--share-encoders", "--share-decoders"]
    return Shape(data, train(data, folder / "out", "--task", task, *arch, *flags), task, "de", "en", flags)


def bilingual(folder: Path) -> Shape:
    """translation, with the pieces of subword-nmt."""
    data = binarize(folder, ("de", "en"), spm=False)
    checkpoint = train(data, folder / "out", "--task", "translation", "--arch", "transformer", "-s", "de", "-t", "en")
    return Shape(data, checkpoint, "translation", "de", "en", post_process="subword_nmt")


SHAPES = {
    "bilingual": bilingual,
    "M2M-100": m2m,
    "NLLB": nllb,
    "mBART-50": mbart50,
    "mBART-cc25": mbart_cc25,
    "multilingual_translation": multilingual,
    "tags instead of end and start": replacing,
}


def write_corpus(folder: Path, languages: tuple[str, str], *, spm: bool) -> None:
    """train (60 pairs), valid (4) and test (20) in pieces: 18 words, every third of two pieces; target reversed."""
    chance = random.Random(7)
    for split, size in (("train", 60), ("valid", 4), ("test", 20)):
        lines: tuple[list[str], list[str]] = [], []
        for _ in range(size):
            words = [chance.randrange(18) for _ in range(chance.randint(1, 8))]
            lines[0].append(" ".join(_pieces(f"{languages[0][:2]}{n}", n, spm) for n in words))
            lines[1].append(" ".join(_pieces(f"{languages[1][:2]}{n}", n, spm) for n in reversed(words)))
        for language, side in zip(languages, lines, strict=True):
            (folder / f"{split}.{language}").write_text("\n".join(side) + "\n", encoding="utf-8")


def _pieces(stem: str, number: int, spm: bool) -> str:
    if spm:
        return f"▁{stem} er" if number % 3 == 0 else f"▁{stem}"
    return f"{stem}@@ er" if number % 3 == 0 else stem


def binarize(folder: Path, languages: tuple[str, str], *, spm: bool = True) -> Path:
    """A corpus and what fairseq-preprocess makes of it, with one dictionary for both languages."""
    write_corpus(folder, languages, spm=spm)
    pieces = sorted({piece for path in folder.glob("*.*") for piece in path.read_text(encoding="utf-8").split()})
    dictionary = folder / "dict.txt"
    dictionary.write_text("".join(f"{piece} 1\n" for piece in pieces), encoding="utf-8")
    out = folder / "bin"
    options = [
        "-s",
        languages[0],
        "-t",
        languages[1],
        "--destdir",
        out,
        "--srcdict",
        dictionary,
        "--tgtdict",
        dictionary,
    ]
    prefixes = [word for split in ("train", "valid", "test") for word in (f"--{split}pref", folder / split)]
    preprocess(*options, *prefixes)
    return out


def preprocess(*options: object) -> None:
    """fairseq-preprocess."""
    from fairseq import options as host_options
    from fairseq_cli.preprocess import main

    parser = host_options.get_preprocessing_parser()
    with contextlib.redirect_stdout(io.StringIO()):
        main(parser.parse_args(list(map(str, options))))


def train(data: Path, out: Path, *options: object) -> Path:
    """fairseq-train; the last checkpoint."""
    from fairseq import options as host_options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.logging import metrics
    from fairseq_cli.train import main

    metrics.reset()
    arguments = [str(data), "--save-dir", str(out), *TINY, *map(str, options)]
    args = host_options.parse_args_and_arch(host_options.get_training_parser(), input_args=arguments)
    with contextlib.redirect_stdout(io.StringIO()):
        main(convert_namespace_to_omegaconf(args))
    return out / "checkpoint_last.pt"


def generate(shape: Shape, task: str, *options: object) -> str:
    """fairseq-generate's output for the test split, with the README's flags of this shape."""
    from fairseq import options as host_options
    from fairseq_cli import generate as command

    arguments = [str(shape.data), "--task", task, "--path", str(shape.checkpoint), *_common(shape), *map(str, options)]
    args = host_options.parse_args_and_arch(host_options.get_generation_parser(), input_args=arguments)
    with contextlib.redirect_stdout(io.StringIO()) as output, _plain_layers(command.checkpoint_utils):
        command.main(args)
    return output.getvalue()


@contextlib.contextmanager
def _plain_layers(checkpoint_utils: Any) -> Iterator[None]:
    """The fused encoder layers of fairseq 0.12.2 do not run with the torch of today, whatever the task."""
    load = checkpoint_utils.load_model_ensemble

    def load_plainly(*args: Any, **options: Any) -> Any:
        models, steps = load(*args, **options)
        for model in models:
            make_readable(model)
        return models, steps

    with mock.patch.object(checkpoint_utils, "load_model_ensemble", load_plainly):
        yield


def _common(shape: Shape) -> list[str]:
    return [
        *("-s", shape.source, "-t", shape.target, "--cpu", "--beam", "3", "--max-len-b", "15", "--no-progress-bar"),
        *("--num-workers", "0", "--gen-subset", "test", "--batch-size", "8", *shape.flags),
    ]
