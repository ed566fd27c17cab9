"""What an attack needs: odd models, a limit on memory, and commands in processes that Ctrl-C reaches."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from tests.cli.tiny_pair import _save
from tests.conftest import PACKAGE, PROGRAMS, REPOSITORY

NORMALIGN = [sys.executable, "-m", "fairseq_normalign.cli"]
FAIRSEQ_OPTIONS = [
    *("--user-dir", PACKAGE, "--task", "translation_normalign", "--cpu", "-s", "de", "-t", "en", "--beam", 2),
    *("--max-len-a", 0, "--max-len-b", 8, "--print-alignment", "hard", "--post-process", "subword_nmt"),
    *("--no-progress-bar", "--num-workers", 0),
]
HISTORY = {"num_updates": 0, "criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}}


SPARE_BYTES = 4 << 30
"""Of memory beyond what the process has when a case starts."""


@contextlib.contextmanager
def bounded_memory() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + SPARE_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def make_sentencepiece_model(folder: Path) -> None:
    """A model whose dictionary marks the start of words, the mark alone among its pieces."""
    from fairseq.data import Dictionary

    words = Dictionary()
    for piece in ("▁", "▁a", "▁b", "c", "d", "▁e"):
        words.add_symbol(piece)
    for language in ("de", "en"):
        words.save(str(folder / f"dict.{language}.txt"))
    _save(folder / "de-en.pt", words, "de", "en", 1)


def make_lstm(folder: Path) -> None:
    """A checkpoint of another architecture, with the dictionaries of the tiny models."""
    from fairseq.data import Dictionary
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.models.lstm import LSTMModel, base_architecture
    from fairseq.tasks.translation import TranslationTask

    words = Dictionary.load(str(folder / "dict.de.txt"))
    args = Namespace(arch="lstm", task="translation", data=str(folder), source_lang="de", target_lang="en")
    args.encoder_embed_dim = args.decoder_embed_dim = args.decoder_out_embed_dim = 8
    args.encoder_hidden_size = args.decoder_hidden_size = 8
    args.criterion = "cross_entropy"
    base_architecture(args)
    model = LSTMModel.build_model(args, TranslationTask(convert_namespace_to_omegaconf(args).task, words, words))
    state = {"args": args, "model": model.state_dict(), "extra_state": {}, "optimizer_history": [HISTORY]}
    torch.save(state, folder / "de-en.pt")


def start(arguments: Sequence[object], command: Sequence[object] = NORMALIGN, **options) -> subprocess.Popen:
    """``normalign`` (or another command) in a process of its own, which Ctrl-C reaches.

    A shell has its background jobs ignore Ctrl-C, and their children after them: the tests may be such a job.
    """
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1", "PATH": path}
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment}
    listen = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    return subprocess.Popen(list(map(str, [*command, *arguments])), **{**given, **listen, **options})
