"""One tiny Marian in every format, made once."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

from tests.hosts.marian.writers import (
    ct2_arrays,
    marian_arrays,
    marian_config,
    write_bin,
    write_ct2,
    write_npz,
)
from tests.hosts.transformers.folders import MAKERS
from tests.hosts.transformers.tiny_families import transformers

CT2_CONFIG = {"add_source_bos": False, "add_source_eos": True, "decoder_start_token": "</s>"}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> tuple[Path, object]:
    """The folder of transformers, and its model."""
    return make_tiny(tmp_path_factory.mktemp("marian"))


def make_tiny(folder: Path) -> tuple[Path, object]:
    """The folder of transformers, and its model; its padding is zero and is never put out, as in Marian itself."""
    folder.mkdir(exist_ok=True)
    MAKERS["marian"](folder)
    model = transformers.MarianMTModel.from_pretrained(folder, activation_function="silu").eval().requires_grad_(False)
    model.model.shared.weight[-1] = 0
    model.final_logits_bias.normal_(generator=torch.Generator().manual_seed(3))
    model.final_logits_bias[0, -1] = -1e4
    model.save_pretrained(folder)
    return folder, model


@pytest.fixture(scope="session")
def twin(tiny, tmp_path_factory):
    """A function: the tiny Marian in a format, by its name; the path to give."""
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            made[name] = write_twin(name, *tiny, tmp_path_factory.mktemp("twin"))
        return made[name]

    return get


def write_twin(name: str, source: Path, model: object, folder: Path) -> Path:
    """Write the tiny Marian in a format into an empty folder; return the path to give."""
    for file in ("source.spm", "target.spm"):
        shutil.copy(source / file, folder)
    pieces = list(json.loads((source / "vocab.json").read_text()))[:-1]
    kind, _, detail = name.partition(" ")
    if kind == "ct2":
        write_ct2(folder / "model.bin", *ct2_arrays(model), **_kind(detail))
        (folder / "shared_vocabulary.json").write_text(json.dumps(pieces))
        (folder / "config.json").write_text(json.dumps(CT2_CONFIG))
        return folder
    if kind == "argos":
        place = write_twin(f"ct2 {detail}", source, model, folder)
        shutil.copy(source / "source.spm", folder / "sentencepiece.model")
        with zipfile.ZipFile(folder / "tiny.argosmodel", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in ("model.bin", "config.json", "shared_vocabulary.json"):
                archive.write(place / file, f"translate-de_en/model/{file}")
            for file in ("source.spm", "target.spm"):
                archive.write(place / file, f"translate-de_en/{file}")
            archive.writestr("translate-de_en/metadata.json", json.dumps({"from_code": "de", "to_code": "en"}))
        return folder / "tiny.argosmodel"
    text = "".join(f"{json.dumps(piece)}: {number}\n" for number, piece in enumerate(pieces))
    (folder / "tiny.vocab.yml").write_text(text)
    (folder / "decoder.yml").write_text("models: [x]\nvocabs:\n  - tiny.vocab.yml\n  - tiny.vocab.yml\n")
    if kind == "npz":
        write_npz(folder / "model.npz", marian_arrays(model), marian_config(model))
        return folder / "model.npz"
    bits = {"intgemm8": 8, "intgemm16": 16}.get(detail, 32)
    write_bin(folder / "model.bin", marian_arrays(model), marian_config(model), bits)
    if detail == "gz":
        (folder / "model.bin.gz").write_bytes(gzip.compress((folder / "model.bin").read_bytes()))
        (folder / "model.bin").unlink()
    return folder


def _kind(detail: str) -> dict:
    kind, _, version = (detail or "float32").partition(" v")
    return {"kind": kind, "version": int(version or 6)}
