"""The numbers in a file of Marian or CTranslate2, as numpy arrays: every length is checked before it is used.

Nothing here runs code of the file, and memory stays within a small multiple of the size of the file.
"""

from __future__ import annotations

import math
import re
import struct
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NormalignError, reason_of
from ...files import unpacked

MOST_UNPACKED = 20
"""How many times its own size a packed file or archive may have when it is unpacked: weights hardly shrink."""
SPARE = 1 << 20
LONGEST_CONFIG = 1 << 18
MOST_DIMENSIONS = 8
MARIAN_TYPES = {0x404: np.float32, 0x402: np.float16, 0x408: np.float64, 0x104: np.int32}
INTGEMM = {0x4101: np.int8, 0x4102: np.int16}
"""Types that are followed by a multiplier, and whose matrices are stored transposed, but for embeddings."""
TEXT_TYPE = 0x101
CONFIG_NAME = "special:model.yml"
CT2_TYPES = {0: "<f4", 1: "<i1", 2: "<i2", 3: "<i4", 4: "<f2", 5: "<u2"}
BFLOAT16 = 5
CT2_SIZES = {4: 0, 2: 2, 1: 1}
"""Up to version 3, the type by the size of an item."""
LATEST_CT2 = 6


@dataclass
class Weights:
    """Named arrays, float32 where they are weights; matrices as the format has them."""

    kind: str
    """marian or ctranslate2."""
    arrays: dict[str, np.ndarray]
    config: dict[str, Any] = field(default_factory=dict)
    """What the file says of the model (Marian)."""

    def take(self, name: str, *shape: int | None) -> np.ndarray:
        """Return and remove an array, which must have this shape (None: any size)."""
        found = self.arrays.pop(name, None)
        if found is None:
            raise NormalignError(f"it has no '{name}', which a model of this kind needs")
        if len(found.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):
            wanted = " x ".join("any" if size is None else str(size) for size in shape)
            raise NormalignError(f"'{name}' has the shape {' x '.join(map(str, found.shape))}, not {wanted}")
        return found

    def number(self, name: str, default: float = 0) -> float:
        """Return and remove a single number."""
        found = self.arrays.pop(name, None)
        if found is None:
            return default
        if found.size != 1 or not np.isfinite(found).all():
            raise NormalignError(f"'{name}' is not one number")
        return float(found.reshape(()))


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Return the content of a file, unpacked if it is packed; no more than a small multiple of its size."""
    try:
        with open(path, "rb") as handle:
            limit = most or MOST_UNPACKED * path.stat().st_size + SPARE
            found = unpacked(handle, str(path)).read(limit + 1)
    except OSError as error:
        raise NormalignError(f"{path}: {reason_of(error)}") from None
    if len(found) > limit:
        raise NormalignError(f"{path}: more than {limit} bytes when it is unpacked; refused")
    return found


def read_weights(path: Path) -> Weights:
    """Read a file of Marian (.npz, .bin) or CTranslate2 (model.bin), told apart by its first bytes.

    >>> sorted(read_weights(Path("model.npz")).arrays)[:2]  # doctest: +SKIP
    ['Wemb', 'decoder_ff_logit_out_b']
    """
    data = read_bytes(path)
    read: Any = _read_ctranslate2
    if data.startswith(b"PK\x03\x04"):
        read = _read_npz
    elif data.startswith(struct.pack("<Q", 1)):
        read = _read_marian
    try:
        with np.errstate(all="ignore"):  # infinity is refused where the weights are used
            found: Weights = read(data)
            return found
    except NormalignError as error:
        raise NormalignError(f"{path}: {error}") from None


class _Reader:
    """Bytes taken one after the other; what goes beyond the end is an error."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = memoryview(data), 0

    @property
    def left(self) -> int:
        return len(self.data) - self.place

    def take(self, count: int) -> memoryview:
        if count > self.left:
            raise NormalignError(f"damaged or cut off: {count} bytes wanted at byte {self.place}, {self.left} are left")
        self.place += count
        return self.data[self.place - count : self.place]

    def numbers(self, kind: str, count: int = 1) -> tuple[int, ...]:
        return struct.unpack(f"<{count}{kind}", self.take(count * struct.calcsize(f"<{kind}")))

    def text(self, count: int) -> str:
        try:
            return str(self.take(count), "utf-8").rstrip("\0")
        except UnicodeDecodeError:
            raise NormalignError(f"damaged: the name before byte {self.place} is not text") from None


def _array(data: memoryview, kind: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The numbers at the start of ``data`` in this shape."""
    kind = np.dtype(kind)
    count = math.prod(shape)
    if len(shape) > MOST_DIMENSIONS or any(size < 1 for size in shape) or count * kind.itemsize > len(data):
        raise NormalignError(f"damaged: an array of the shape {' x '.join(map(str, shape[:9]))} in {len(data)} bytes")
    return np.frombuffer(data, kind, count).reshape(shape)


def _read_marian(content: bytes) -> Weights:
    reader = _Reader(content)
    _, count = reader.numbers("Q", 2)
    if count * 32 > reader.left:
        raise NormalignError(f"damaged or cut off: {count} arrays announced, {reader.left} bytes are left")
    headers = [reader.numbers("Q", 4) for _ in range(count)]
    names = [reader.text(length) for length, *_ in headers]
    shapes = []
    for (_, _, dimensions, _), name in zip(headers, names, strict=True):
        if dimensions > MOST_DIMENSIONS:
            raise NormalignError(f"damaged: '{name}' has {dimensions} dimensions")
        shapes.append(reader.numbers("i", dimensions))
    reader.take(*reader.numbers("Q"))  # padding
    found = Weights("marian", {})
    for (_, kind, _, length), name, shape in zip(headers, names, shapes, strict=True):
        data = reader.take(length)
        if name == CONFIG_NAME:
            found.config = parse_yaml(bytes(data).rstrip(b"\0"), name)
        elif kind in MARIAN_TYPES:
            found.arrays[name] = _array(data, MARIAN_TYPES[kind], shape).astype(np.float32, copy=False)
        elif kind in INTGEMM:
            numbers = _array(data, INTGEMM[kind], shape)
            (scale,) = _array(data[numbers.nbytes :], "<f4", (1,))
            if not (np.isfinite(scale) and scale > 0):
                raise NormalignError(f"damaged: the multiplier of '{name}' is {scale}")
            if len(shape) == 2 and not name.endswith("Wemb"):
                numbers = numbers.reshape(shape[::-1]).T
            found.arrays[name] = numbers / np.float32(scale)
        elif not name.startswith("special:"):
            raise NormalignError(f"'{name}' has the type {kind:#x}; float32, intgemm8 and intgemm16 are read")
    return found


def _read_npz(data: bytes) -> Weights:
    found = Weights("marian", {})
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            check_members(archive, len(data))
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                with archive.open(member) as handle:
                    content = BytesIO(handle.read(member.file_size))
                version = np.lib.format.read_magic(content)
                if version not in ((1, 0), (2, 0)):
                    raise NormalignError(f"'{name}' is written in an unknown version of numpy's format")
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, fortran, kind = read(content)
                if kind.kind not in "fi" or fortran:
                    raise NormalignError(f"'{name}' holds {kind}; plain numbers are read")
                array = _array(memoryview(content.getbuffer()[content.tell() :]), kind, shape)
                if name == CONFIG_NAME:
                    found.config = parse_yaml(array.tobytes().rstrip(b"\0"), name)
                elif not name.startswith("special:"):
                    found.arrays[name] = array.astype(np.float32, copy=False)
    except NormalignError:
        raise
    except Exception as error:  # zipfile and numpy end in errors of many kinds where a file is damaged
        raise NormalignError(f"damaged: {' '.join(str(error).split())[:200] or type(error).__name__}") from None
    return found


def check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that is far larger when it is unpacked."""
    total = sum(member.file_size for member in archive.infolist())
    if total > MOST_UNPACKED * size + SPARE:
        raise NormalignError(f"{total} bytes when it is unpacked, {size} packed; refused")


def _read_ctranslate2(content: bytes) -> Weights:
    reader = _Reader(content)
    (version,) = reader.numbers("I")
    if not 1 <= version <= LATEST_CT2:
        raise NormalignError("neither a model of Marian (.npz, .bin) nor of CTranslate2 (versions 2 to 6)")
    if version >= 2:
        spec = reader.text(*reader.numbers("H"))
        reader.numbers("I")
        if not spec.startswith("Transformer") or spec.startswith(("TransformerDecoder", "TransformerEncoder")):
            raise NormalignError(f"a model of CTranslate2 of the kind '{spec}'; TransformerSpec is read")
    found: dict[str, np.ndarray] = {}
    for _ in range(*reader.numbers("I")):
        name = reader.text(*reader.numbers("H"))
        shape = reader.numbers("I", *reader.numbers("B"))
        kind = reader.numbers("B")[0]
        if version >= 4:
            (length,) = reader.numbers("I")
        else:
            length = kind * reader.numbers("I")[0]
            kind = CT2_SIZES.get(kind, -1)
        if kind not in CT2_TYPES:
            raise NormalignError(f"damaged: '{name}' has the unknown type {kind}")
        array = _array(reader.take(length), CT2_TYPES[kind], shape)
        found[name] = (array.astype(np.uint32) << 16).view(np.float32) if kind == BFLOAT16 else array
    if version >= 3:
        for _ in range(*reader.numbers("I")):
            alias, name = (reader.text(*reader.numbers("H")) for _ in range(2))
            if name not in found:
                raise NormalignError(f"damaged: '{alias}' stands for '{name}', which is not there")
            found[alias] = found[name]
    return Weights("ctranslate2", _as_floats(found))


def _as_floats(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Divide whole numbers by their scales; an array under two names is converted once."""
    arrays: dict[str, np.ndarray] = {}
    made: dict[int, np.ndarray] = {}
    for name, array in found.items():
        if name.endswith("_scale") and name.removesuffix("_scale") in found:
            continue
        if array.ndim and id(array) not in made:
            scale = found.get(f"{name}_scale")
            if array.dtype.kind != "f" and scale is None:
                raise NormalignError(f"damaged: '{name}' holds whole numbers without a scale")
            if scale is None:
                made[id(array)] = array.astype(np.float32, copy=False)
            else:
                if scale.shape not in ((), (1,), array.shape[:1]) or not (np.isfinite(scale) & (scale > 0)).all():
                    raise NormalignError(f"damaged: the scales of '{name}' do not fit it")
                rows = scale.astype(np.float32).reshape(-1, *[1] * (array.ndim - 1))
                made[id(array)] = array.astype(np.float32) / rows
        arrays[name] = made.get(id(array), array)
    return arrays


def parse_yaml(data: bytes, name: str) -> dict[str, Any]:
    """Return the settings in a short YAML file: names and plain values."""
    import yaml

    if len(data) > LONGEST_CONFIG:
        raise NormalignError(f"{name}: {len(data)} bytes are too many for a configuration")
    try:
        text = data.decode("utf-8")
        if "*" in text and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise NormalignError(f"{name}: a configuration with aliases, which may stand for any number of values")
        found = yaml.safe_load(text) or {}
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise NormalignError(f"{name}: not YAML ({' '.join(str(error).split())[:120]})") from None
    if not isinstance(found, dict):
        raise NormalignError(f"{name}: not a list of settings")
    return found


def parse_vocabulary(data: bytes, name: str) -> list[str]:
    """Return the pieces in a vocabulary, by their index: YAML or JSON (a list, or piece: index), or one per line.

    >>> parse_vocabulary(b'"</s>": 0\n"\\u2581a": 1\n', "vocab.yml")
    ['</s>', '\u2581a']
    """
    import json

    import yaml

    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
        if text.lstrip()[:1] in ("[", "{"):
            found = json.loads(text)
        elif name.endswith((".yml", ".yaml", ".gz")):
            found = {}
            for piece, index in re.findall(r"^(?:\? )?(.+?)(?:\n?: +)(\d{1,9}) *\r?$", text, re.MULTILINE):
                if piece[0] in "\"'" and len(piece) > 1 and piece[-1] == piece[0]:
                    inner = piece[1:-1]
                    piece = inner.replace("''", "'") if piece[0] == "'" else inner
                    if "\\" in inner and piece is inner:
                        piece = str(yaml.safe_load(f'"{inner}"'))
                found[piece] = int(index)
        else:
            found = text.removesuffix("\n").split("\n")
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise NormalignError(f"{name}: not a vocabulary ({' '.join(str(error).split())[:120]})") from None
    if isinstance(found, dict):
        pieces = [""] * len(found)
        for piece, index in found.items():
            if not isinstance(index, int) or not 0 <= index < len(found) + SPARE // 16:
                raise NormalignError(f"{name}: the piece {ascii(piece)[:40]} has the index {ascii(index)[:20]}")
            pieces += [""] * (index + 1 - len(pieces))
            pieces[index] = piece
        return pieces
    if not found or not all(isinstance(piece, str) for piece in found):
        raise NormalignError(f"{name}: not a list of pieces")
    return list(found)
