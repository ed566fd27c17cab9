"""What lies in a folder or archive of a published model: weights, vocabularies and SentencePiece models."""

from __future__ import annotations

import contextlib
import json
import math
import re
import shutil
import struct
import tempfile
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import MissingExtra, NormalignError, note, reason_of
from .formats import LONGEST_CONFIG, check_members, parse_vocabulary, parse_yaml, read_bytes

ARCHIVES = (".argosmodel", ".zip")
PACKED = r"(\.gz|\.zst)?"
WEIGHTS = re.compile(rf"(.*\.npz|model.*\.bin){PACKED}")
OF_A_MODEL = re.compile(rf"({WEIGHTS.pattern}|.*(vocab.*|\.spm|\.model|\.ya?ml)|(config|metadata)\.json){PACKED}")
"""What is unpacked of an archive."""
SPM = re.compile(rf".*\.(spm|model){PACKED}")
COVERED = 0.9
"""From this share of the vocabulary on, a SentencePiece model is that of both sides."""
MOST_OTHER_LETTERS = 0.05


@dataclass
class Side:
    """Pieces of the source or the target: their indices, and what cuts text into them."""

    pieces: list[str]
    splitter: Any
    """A SentencePieceProcessor."""


@dataclass
class Found:
    """What a model is made of."""

    weights: Path
    settings: dict[str, Any]
    source: Side
    target: Side
    languages: tuple[str | None, str | None]


def is_published(path: Path) -> bool:
    """Return whether a file or folder holds a model of Marian or CTranslate2, by its names alone."""
    if path.is_dir():
        if any(any(path.glob(pattern)) for pattern in ("*.safetensors", "pytorch_model*.bin")):
            return False
        return bool(_weights_in(path))
    if path.name.endswith(ARCHIVES) or re.fullmatch(rf".*\.npz{PACKED}", path.name):
        return True
    if re.fullmatch(rf".*\.bin{PACKED}", path.name) and path.is_file():
        with contextlib.suppress(OSError), open(path, "rb") as handle:
            return not handle.read(2).startswith((b"PK", b"\x80"))  # those are files of torch
    return False


def _weights_in(folder: Path) -> list[Path]:
    """The files of weights in a folder, or in the first folders below it that have any."""
    for pattern in ("*", "*/*", "*/*/*"):
        found = [file for file in folder.glob(pattern) if WEIGHTS.fullmatch(file.name) and file.is_file()]
        if found:
            return sorted(found)
    return []


@contextlib.contextmanager
def found_files(path: Path, splitters: Sequence[str]) -> Iterator[Found]:
    """Find what a model is made of; ``splitters`` are SentencePiece models to use in place of its own."""
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(_unpacked(path))) if path.name.endswith(ARCHIVES) and path.is_file() else path
        weights = _weights_in(place) if place.is_dir() else [place]
        if not weights:
            raise NormalignError(f"{path}: no model in it (model.npz, model*.bin)")
        if len(weights) > 1:
            raise NormalignError(
                f"{path}: several models ({', '.join(file.name for file in weights[:4])}); name one file"
            )
        yield _found(weights[0], list(splitters), path)


@contextlib.contextmanager
def _unpacked(path: Path) -> Iterator[str]:
    """A folder with the files of an archive that belong to a model, for as long as it is being loaded."""
    with tempfile.TemporaryDirectory(prefix="normalign-") as name:
        try:
            with zipfile.ZipFile(path) as archive:
                check_members(archive, path.stat().st_size)
                for member in archive.infolist():
                    parts = Path(member.filename).parts
                    is_inside = not Path(member.filename).is_absolute() and ".." not in parts
                    if not member.is_dir() and len(parts) < 4 and OF_A_MODEL.fullmatch(parts[-1]) and is_inside:
                        Path(name, *parts[:-1]).mkdir(parents=True, exist_ok=True)
                        with archive.open(member) as packed, open(Path(name, *parts), "wb") as plain:
                            shutil.copyfileobj(packed, plain)
        except OSError as error:
            raise NormalignError(f"{path}: {reason_of(error)}") from None
        except NormalignError as error:
            raise NormalignError(f"{path}: {error}") from None
        except Exception as error:  # zipfile ends in errors of many kinds where a file is damaged
            raise NormalignError(
                f"{path}: not a zip archive, or damaged ({' '.join(str(error).split())[:120]})"
            ) from None
        yield name


def _found(weights: Path, splitters: list[str], path: Path) -> Found:
    folders = [weights.parent, *([weights.parent.parent] if weights.parent.name == "model" else [])]
    files = [file for folder in folders for file in sorted(folder.iterdir()) if file.is_file()]
    metadata = _json(_named(files, r"metadata\.json"))
    settings = _json(_named(files, r"config\.json"))
    named: list[Any] = []
    config = _named(files, rf"{re.escape(weights.name)}\.(decoder\.)?yml", rf"(decoder|config.*)\.yml{PACKED}")
    if config is not None and not settings:
        settings = parse_yaml(read_bytes(config, LONGEST_CONFIG), str(config))
        vocabs = settings.get("vocabs") or []
        named = [_named(files, re.escape(Path(str(name)).name) + PACKED) for name in vocabs]
    if not named or None in named:
        kinds = rf"\.(spm|ya?ml|json|txt){PACKED}"
        both = _named(files, rf"(shared_|joint.*)?vocab(ulary)?[^/]*{kinds}", rf".*\.vocab{kinds}")
        sides = (
            _named(files, rf"{name}_?vocab(ulary)?.*{kinds}", rf"vocab\.{name}{kinds}") or both
            for name in ("(src|source)", "(trg|tgt|target)")
        )
        named = list(sides)
    if len(named) < 2 or None in named:
        raise NormalignError(
            f"{path}: no vocabulary beside {weights.name} (vocab.spm, vocab.yml, shared_vocabulary.json)"
        )
    vocabularies = [named[0], named[-1]]
    own = [
        _named(
            files,
            rf"{name}\.(spm|model){PACKED}",
            rf"(sentencepiece(\.bpe)?|spiece|spm|joint|bpe)\.(model|spm){PACKED}",
        )
        for name in ("source", "target")
    ]
    models = [Path(name) for name in splitters] * (2 if len(splitters) == 1 else 1)
    for file, mate in [] if models else zip(vocabularies, own, strict=True):
        model = file if SPM.fullmatch(file.name) else mate
        if model is None:
            other = _named(files, r".*\.(bpe|codes)")
            raise NormalignError(
                f"{path}: no SentencePiece model beside {weights.name} (source.spm, target.spm)"
                + (f"; '{other.name}' is not read" if other else "; name one")
            )
        models.append(model)
    made = {file: load_splitter(read_bytes(file), str(file)) for file in dict.fromkeys(models)}
    lists: dict[Path, list[str]] = {}
    for file in vocabularies:
        if file not in lists:
            lists[file] = _pieces_of(file, made.get(file))
    source, target = (Side(lists[file], made[model]) for file, model in zip(vocabularies, models, strict=True))
    if not splitters and models[0] == models[1] and not SPM.fullmatch(vocabularies[1].name):
        known = set(target.pieces) & set(_pieces_of(models[1], target.splitter))
        if len(known) < COVERED * len(target.pieces):
            target.splitter = splitter_of_vocabulary(target.pieces, source.splitter)
            note(
                f"{path}: {models[1].name} is the source's, and there is none of the target: pieces of the target are "
                "found by the vocabulary, which may cut a few words otherwise than the model was trained with"
            )
    languages = tuple(
        code if isinstance(code := metadata.get(f"{side}_code"), str) else None for side in ("from", "to")
    )
    return Found(weights, settings, source, target, languages)  # type: ignore[arg-type]


def _named(files: Sequence[Path], *patterns: str) -> Path | None:
    """The first file with a name of the first pattern that has one."""
    return next((file for pattern in patterns for file in files if re.fullmatch(pattern, file.name)), None)


def _json(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        found = json.loads(read_bytes(file, LONGEST_CONFIG))
    except (ValueError, RecursionError) as error:
        raise NormalignError(f"{file}: not JSON ({' '.join(str(error).split())[:120]})") from None
    return found if isinstance(found, dict) else {}


def _pieces_of(file: Path, splitter: Any) -> list[str]:
    if not SPM.fullmatch(file.name):
        return parse_vocabulary(read_bytes(file), str(file))
    splitter = splitter or load_splitter(read_bytes(file), str(file))
    return [splitter.id_to_piece(number) for number in range(splitter.get_piece_size())]


# -- SentencePiece ----------------------------------------------------------------------------------------------------


def load_splitter(content: bytes, name: str) -> Any:
    """Return the SentencePieceProcessor of a model's bytes."""
    try:
        import sentencepiece
    except ImportError:
        raise MissingExtra("sentencepiece", "transformers", f"the model '{name}'") from None
    made = sentencepiece.SentencePieceProcessor()
    try:
        made.LoadFromSerializedProto(content)
        made.id_to_piece(list(range(made.get_piece_size())))
    except (OSError, RuntimeError, TypeError, UnicodeDecodeError) as error:
        raise NormalignError(f"{name}: not a SentencePiece model ({' '.join(str(error).split())[:80]})") from None
    return made


def splitter_of_vocabulary(pieces: Sequence[str], source: Any) -> Any:
    """Return a splitter into the pieces of a target whose SentencePiece model is missing.

    Vocabularies are ordered by frequency: a piece's score is the logarithm of its rank. Pieces in scripts that pieces
    outside the source's own model hardly have are the source's alone.
    """
    scripts: Counter[str] = Counter()
    own = {source.id_to_piece(number) for number in range(source.get_piece_size())}
    for piece in pieces:
        if piece not in own:
            scripts.update(_scripts(piece))
    allowed = {script for script, count in scripts.items() if count > MOST_OTHER_LETTERS * scripts.total()}
    entries = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    control = {"<unk>", "<s>", "</s>", "<pad>", ""}
    entries += [
        (piece, -math.log(rank), 1)
        for rank, piece in enumerate(dict.fromkeys(pieces), start=1)
        if piece not in control and allowed.issuperset(_scripts(piece))
    ]
    made = b"".join(
        _field(1, _field(1, piece.encode()) + b"\x15" + struct.pack("<f", score) + bytes([0x18, kind]))
        for piece, score, kind in entries
    )
    trainer = _field(2, bytes([0x18, 1]))  # model_type = UNIGRAM
    return load_splitter(made + trainer + _field(3, _normalizer(source.serialized_model_proto())), "the vocabulary")


def _scripts(piece: str) -> list[str]:
    """The script of each letter, by the first word of its Unicode name."""
    return [unicodedata.name(letter, "?").split()[0] for letter in piece if letter.isalpha()]


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that holds bytes."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


def _normalizer(proto: bytes) -> bytes:
    """How a serialized SentencePiece model normalizes text (its field 3), as it is written there."""
    place = 0

    def varint() -> int:
        nonlocal place
        number = shift = 0
        while True:
            byte = proto[place]
            place, number, shift = place + 1, number | (byte & 127) << shift, shift + 7
            if byte < 128:
                return number

    while place < len(proto):
        key = varint()
        length = varint()  # every field of a model holds bytes
        place += length
        if key >> 3 == 3:
            return proto[place - length : place]
    return b""
