"""Damaged files of published models, for tests/robustness/test_fuzz.py (``-k Marian`` and the like).

Each is read or refused in one line, and what is read stays within a multiple of the size of the file.
"""

from __future__ import annotations

import io
import json
import random
import re
import struct
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import sentencepiece

from fairseq_normalign.hosts.marian.files import found_files, load_splitter
from fairseq_normalign.hosts.marian.formats import read_weights
from fairseq_normalign.hosts.marian.modules import build
from fairseq_normalign.hosts.marian.text import Pieces
from tests.hosts.marian.conftest import make_tiny
from tests.hosts.marian.writers import ct2_arrays, marian_arrays, marian_config, write_bin, write_ct2, write_npz
from tests.hosts.transformers.folders import lines

LENGTHS = (0, 1, 2, 3, 7, 255, 1 << 15, (1 << 16) - 1, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40)
FLOATS = (float("nan"), float("inf"), 0.0, -1e38)
SPARE = 1 << 22
TIMES = 80
"""A packed file may have 20 times its size, and a byte becomes a number of four."""


def damaged(seeds: Sequence[bytes], seed: int) -> bytes:
    """One of the seeds with one to three kinds of damage, most of them near the start, where the lengths are."""
    chance = random.Random(seed)
    made = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 3)):
        place = int(len(made) * chance.random() ** chance.choice((1, 3, 6)))
        kind = chance.randrange(6)
        if kind == 0:
            made[place : place + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            size = chance.choice((2, 4, 8))
            made[place : place + size] = (chance.choice(LENGTHS) % (1 << 8 * size)).to_bytes(size, "little")
        elif kind == 2:
            del made[place:]
        elif kind == 3:
            del made[place : place + chance.choice((1, 4, 100))]
        elif kind == 4:
            made[place:place] = made[: chance.choice((1, 8, 200))]
        else:
            made[place : place + 4] = struct.pack("<f", chance.choice(FLOATS))
    return bytes(made)


def _weights(content: bytes, folder: Path) -> None:
    (folder / "model").write_bytes(content)
    weights = read_weights(folder / "model")
    assert sum(array.nbytes for array in weights.arrays.values()) < TIMES * len(content) + SPARE
    build(weights, {})


def _archive(content: bytes, folder: Path) -> None:
    (folder / "x.argosmodel").write_bytes(content)
    with found_files(folder / "x.argosmodel", ()) as found:
        read_weights(found.weights)
        assert all(Pieces(side, found.settings, found.languages)("ab c") for side in (found.source, found.target))


def _pieces(content: bytes, folder: Path) -> None:
    splitter = load_splitter(content, "x.spm")
    assert [splitter.id_to_piece(number) for number in range(splitter.get_piece_size())]
    assert splitter.encode("Bafe kosö.", out_type=str) is not None


def published_readers() -> dict[str, tuple[list[bytes], Callable[[bytes, Path], object]]]:
    """A reader of each binary format, with sound files of one layer."""
    made = io.BytesIO()
    trained = {"vocab_size": 60, "minloglevel": 2, "hard_vocab_limit": False, "normalization_rule_name": "identity"}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines(1)), model_writer=made, **trained)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _, model = make_tiny(folder / "tiny")
        config = marian_config(model)
        one = {name: array for name, array in marian_arrays(model).items() if not re.search("_l[2-9]_", name)}
        write_npz(folder / "x.npz", one, config)
        write_bin(folder / "bin", one, config)
        write_bin(folder / "bin8", one, config, 8)
        arrays, aliases = ct2_arrays(model)
        arrays = {name: array for name, array in arrays.items() if not re.search("/layer_[1-9]/", name)}
        write_ct2(folder / "ct2", arrays, aliases)
        write_ct2(folder / "ct2 old", arrays, aliases, kind="int16", version=3)
        write_ct2(folder / "ct2 int8", arrays, aliases, kind="int8")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(folder / "ct2 int8", "x/model/model.bin")
            archive.writestr("x/model/shared_vocabulary.json", json.dumps(["</s>", "<unk>", "▁a", "b"]))
            archive.writestr("x/model/config.json", json.dumps({"add_source_eos": True}))
            for side in ("source", "target"):
                archive.writestr(f"x/{side}.spm", made.getvalue())
        files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    return {
        "Marian .npz": ([files["x.npz"]], _weights),
        "Marian .bin": ([files["bin"], files["bin8"]], _weights),
        "CTranslate2": ([files["ct2"], files["ct2 old"], files["ct2 int8"]], _weights),
        "Argos archive": ([packed.getvalue()], _archive),
        "SentencePiece": ([made.getvalue()], _pieces),
    }
