"""A tiny bitext, and tiny models trained on it by fairseq's real commands. Made once a session, from nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.forked import run_python

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "fairseq_normalign"
PROGRAMS = Path(sys.executable).parent

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests compute without AMX, so that they run on every machine: see hosts/precision.py, whose probe has its own tests.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

# No test fails for a slow machine.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

TINY_MODEL = [
    *("--encoder-layers", "2", "--decoder-layers", "3", "--encoder-embed-dim", "16", "--decoder-embed-dim", "16"),
    *("--encoder-ffn-embed-dim", "32", "--decoder-ffn-embed-dim", "32"),
    *("--encoder-attention-heads", "2", "--decoder-attention-heads", "2"),
]
TINY_TRAINING = [
    *("--optimizer", "adam", "--lr", "0.003", "--max-tokens", "400", "--num-workers", "0", "--seed", "1"),
    *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1"),
    *("--no-progress-bar", "--log-interval", "100", "--cpu", "--disable-validation"),
    *("--no-epoch-checkpoints", "--save-interval", "1000"),  # saved at the end alone
]


def run(*command: object, cwd: Path = REPOSITORY, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program of the environment as a user would, in a process of its own."""
    program, *arguments = map(str, command)
    return run_python([*([] if program == "python" else [str(PROGRAMS / program)]), *arguments], cwd, stdin)


def succeed(*command: object, cwd: Path = REPOSITORY, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program that must end well."""
    result = run(*command, cwd=cwd, stdin=stdin)
    assert result.returncode == 0, f"{command}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result


def write_program(path: Path, code: str, python: Path | str = sys.executable) -> Path:
    """Write Python code as a program. The path of its interpreter may have spaces, which no ``#!`` line can hold."""
    start = f"""#!/bin/sh\n'''exec' "{python}" "$0" "$@"\n' '''\n"""
    path.write_text(start + code, encoding="utf-8")
    path.chmod(0o755)
    return path


def lines_of(output: str, kind: str) -> dict[int, list[str]]:
    """The lines ``kind-id<TAB>rest`` of a fairseq-generate log, by id; n-best lists in their order."""
    found: dict[int, list[str]] = {}
    for line in output.split("\n"):
        if line.startswith(f"{kind}-"):
            head, _, rest = line.partition("\t")
            found.setdefault(int(head[2:]), []).append(rest)
    return found


def write_bitext(directory: Path, sizes: dict[str, int]) -> None:
    """Sentences of two-piece and one-piece words; the target is the source reversed, word by word."""
    chance = random.Random(1)
    source_words = [f"d{n}@@ e{n}" if n % 3 == 0 else f"d{n}" for n in range(20)]
    target_words = [f"x{n}" if n % 3 else f"x{n}@@ y{n}" for n in range(20)]
    for split, size in sizes.items():
        with (
            open(directory / f"{split}.de", "w", encoding="utf-8") as source,
            open(directory / f"{split}.en", "w", encoding="utf-8") as target,
        ):
            for _ in range(size):
                words = [chance.randrange(20) for _ in range(chance.randint(1, 9))]
                print(*(source_words[word] for word in words), file=source)
                print(*(target_words[word] for word in reversed(words)), file=target)


@pytest.fixture(scope="session")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train (60 pairs), valid (4), test (13) and small (5), in pieces."""
    directory = tmp_path_factory.mktemp("bitext")
    write_bitext(directory, {"train": 60, "valid": 4, "test": 13, "small": 5})
    return directory


@pytest.fixture(scope="session")
def binarized(bitext: Path) -> Path:
    """What fairseq-preprocess makes of it."""
    out = bitext / "bin"
    prefixes = ("--trainpref", bitext / "train", "--validpref", bitext / "valid")
    prefixes += ("--testpref", f"{bitext / 'test'},{bitext / 'small'}")
    succeed("fairseq-preprocess", "-s", "de", "-t", "en", *prefixes, "--destdir", out, "--joined-dictionary")
    return out


def train(binarized: Path, out: Path, *options: object, updates: int = 20) -> Path:
    """Train with fairseq's own command and return the last checkpoint."""
    succeed(
        *("fairseq-train", binarized, "--user-dir", PACKAGE, "--save-dir", out, "--max-update", updates),
        *TINY_TRAINING,
        *TINY_MODEL,
        *options,
    )
    return out / "checkpoint_last.pt"


LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv", "*.egg-info", "build", "dist", "work", "__pycache__", ".*_cache", ".hypothesis")
)
"""A wheel built in the working copy itself would also hold whatever an earlier build left in build/."""


@pytest.fixture(scope="session")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the repository, which is beside it, made without a network."""
    folder = tmp_path_factory.mktemp("built")
    shutil.copytree(REPOSITORY, folder / "copy", ignore=LEFT_OUT)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    subprocess.run([*pip, "-w", str(folder), str(folder / "copy")], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def plain_checkpoint(binarized: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that knows nothing of us: stock task, stock architecture, no user-dir."""
    out = tmp_path_factory.mktemp("plain")
    command = ("fairseq-train", binarized, "--save-dir", out, "--max-update", 30, "--arch", "transformer")
    succeed(*command, "--task", "translation", "--share-all-embeddings", *TINY_TRAINING, *TINY_MODEL)
    return out / "checkpoint_last.pt"


@pytest.fixture(scope="session")
def our_checkpoint(binarized: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 updates, stopped, and resumed to 30: our task, our architecture."""
    out = tmp_path_factory.mktemp("ours")
    options = ("--arch", "transformer_normalign", "--task", "translation_normalign")
    train(binarized, out, *options, updates=20)
    return train(binarized, out, *options, updates=30)


def generate(binarized: Path, checkpoint: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """fairseq-generate with our task."""
    return run(
        *("fairseq-generate", binarized, "--user-dir", PACKAGE, "--task", "translation_normalign", "--cpu"),
        *("--path", checkpoint, "-s", "de", "-t", "en", "--beam", 3, "--max-len-b", 20, "--num-workers", 0, *options),
    )
