"""What an attack needs: tiny models, texts, a place to write, and the commands as people run them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from fairseq_normalign.cli import main
from tests.cli.tiny_pair import TinyPair, _save, make_tiny_pair
from tests.conftest import PROGRAMS, REPOSITORY

NORMALIGN = [sys.executable, "-m", "fairseq_normalign.cli"]
PACKAGE = REPOSITORY / "fairseq_normalign"
HISTORY = {"num_updates": 0, "criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}}


@dataclass(frozen=True)
class Room:
    """A tiny pair of models that every attack shares, and a folder of this attack's own."""

    models: TinyPair
    folder: Path

    @property
    def outputs(self) -> Path:
        """Where commands write; after a refusal nothing may be in it."""
        out = self.folder / "outputs"
        out.mkdir(exist_ok=True)
        return out

    def write(self, name: str, content: bytes | str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def model(self, direction: str = "de-en") -> list[str]:
        return ["--path", str(self.models.path(direction)), "--data", str(self.models.folder), "--cpu"]

    def file(self, content: bytes | str = "w1 w2\nw3\n", name: str = "") -> Path:
        """A file with this content, by default two lines of text."""
        return self.write(name or f"made{len(list(self.folder.iterdir()))}", content)

    def pair(self) -> list[object]:
        return ["--source", self.file(), "--target", self.file()]

    def copy(self) -> list[object]:
        """The model in a folder of its own."""
        for name in ("de-en.pt", "dict.de.txt", "dict.en.txt"):
            shutil.copy(self.models.folder / name, self.folder / name)
        return ["--path", self.folder / "de-en.pt", "--cpu"]

    def leftovers(self) -> list[str]:
        return sorted(path.name for path in self.outputs.iterdir())


def make_models(folder: Path) -> TinyPair:
    folder.mkdir(parents=True, exist_ok=True)
    return make_tiny_pair(folder)


def make_sentencepiece_model(folder: Path) -> Path:
    """A model whose dictionary marks the start of words, the mark alone among its pieces."""
    from fairseq.data import Dictionary

    folder.mkdir(parents=True, exist_ok=True)
    words = Dictionary()
    for piece in ("▁", "▁a", "▁b", "c", "d", "▁e"):
        words.add_symbol(piece)
    for language in ("de", "en"):
        words.save(str(folder / f"dict.{language}.txt"))
    _save(folder / "model.pt", words, "de", "en", 1)
    return folder / "model.pt"


def make_lstm(folder: Path) -> Path:
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
    path = folder / "lstm.pt"
    state = {"args": args, "model": model.state_dict(), "extra_state": {}}
    torch.save({**state, "optimizer_history": [HISTORY]}, path)
    return path


def environment(**more: str) -> dict[str, str]:
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "PATH": path, **more}


def start(arguments: Sequence[object], command: Sequence[str] = NORMALIGN, **options) -> subprocess.Popen:
    """``normalign`` (or another command) in a process of its own, which Ctrl-C reaches.

    A shell has its background jobs ignore Ctrl-C, and their children after them: the tests may be such a job.
    """
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment(), **options}
    listen = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    return subprocess.Popen([*command, *map(str, arguments)], **{**listen, **given})


def forked_main(arguments: Sequence[object], errors: Path, prepare: Callable[[], object] = lambda: None) -> int:
    """``normalign`` in a fork, which has everything loaded; -> its id. What it says goes to a file."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setpgrp()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)
        prepare()
        code = main([*map(str, arguments)])
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        os._exit(code)


def fairseq(command: str, arguments: Sequence[object]) -> tuple[int, str]:
    """fairseq-generate or fairseq-interactive in this process: exit code and the line a user would see last.

    What the command would report in one line is returned; an exception that it would show as a traceback is raised.
    """
    import importlib

    from fairseq import options

    from fairseq_normalign.hosts.fairseq.patches import outcome_of, register

    register()
    module = importlib.import_module(f"fairseq_cli.{command.removeprefix('fairseq-')}")
    is_generate = command == "fairseq-generate"
    parser = options.get_generation_parser() if is_generate else options.get_interactive_generation_parser()
    try:
        args = options.parse_args_and_arch(parser, input_args=list(map(str, arguments)))
        module.main(args)
    except SystemExit as end:
        return int(end.code or 0), ""
    except BaseException as error:
        code, message = outcome_of(error)
        if code is None:
            raise
        return code, message
    finally:
        with contextlib.suppress(AttributeError):
            sys.modules.pop("fairseq_cli.interactive", None)
    return 0, ""


FAIRSEQ_OPTIONS = [
    *("--task", "translation_normalign", "--cpu", "-s", "de", "-t", "en", "--beam", "2", "--max-len-a", "0"),
    *("--max-len-b", "8", "--print-alignment", "hard", "--post-process", "subword_nmt", "--no-progress-bar"),
    *("--num-workers", "0"),
]
