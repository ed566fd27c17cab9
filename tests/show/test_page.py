"""The page as a file: what is in it, and what cannot be."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib

import numpy as np
import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.pieces import Sentence
from fairseq_normalign.links.read_pair import ReadPair, links_of
from fairseq_normalign.links.readings import MethodReading, Reading, every_reading
from fairseq_normalign.show.page import write_page


def read(path):
    text = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
    return text, data


def numbers(text, sentence=0):
    """Return what a sentence's element holds, as one array."""
    packed = re.search(rf'id="d{sentence}">(.*?)</script>', text)[1]
    planes = np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=np.uint8)
    return np.ascontiguousarray(planes.reshape(2, -1).T).view("<u2").ravel().astype(int)


def test_the_numbers_and_the_links_come_back(tmp_path, pair):
    write_page(tmp_path / "p.html", [pair], start=Reading("norms", 1, None, "awo"))
    text, data = read(tmp_path / "p.html")
    flat, scales = numbers(text), data["sentences"][0]["z"]
    at = matrix = 0
    for name in ("weights", "norms"):
        for soft in (pair.readings[name].steps, pair.readings[name].heads):
            for exact in soft.reshape(-1, *soft.shape[-2:]):
                found = flat[at : at + exact.size].reshape(exact.shape) * scales[matrix]
                np.testing.assert_allclose(found, exact, atol=0.5001 * exact.max() / 4095)
                at, matrix = at + exact.size, matrix + 1
    assert matrix == len(scales)
    for name in ("weights", "norms"):
        for reading in every_reading(name, pair.readings[name].shape):
            sources = flat[at : at + len(pair.target.words)] - 1
            assert sorted((s, t) for t, s in enumerate(sources) if s >= 0) == links_of(pair, reading)
            at += len(sources)
    assert at == len(flat)
    assert data["start"] == {"method": "norms", "layer": 1, "head": None, "step": "awo"}
    assert data["sentences"][0]["t"]["w"] == list(pair.target.words)


def test_links_are_those_before_rounding(tmp_path):
    soft = np.array([[[1.0, 1.0 + 1e-9, 0.0], [0.0, 1e-9, 0.0], [0.0, 0.0, 0.0]]])  # both rows round to a tie
    sides = Sentence.of_words("abc"), Sentence.of_words("xyz")
    write_page(tmp_path / "p.html", [ReadPair(0, *sides, {"m": MethodReading(words=soft)})])
    flat = numbers(read(tmp_path / "p.html")[0])
    assert flat[:6].tolist() == [4095, 4095, 0, 0, 0, 0]
    assert flat[-3:].tolist() == [2, 2, 0]


def test_values_below_zero_come_back(tmp_path):
    soft = np.array([[[0.5, -0.25]]])
    sides = Sentence.of_words("ab"), Sentence.of_words("x")
    write_page(tmp_path / "p.html", [ReadPair(0, *sides, {"m": MethodReading(words=soft)})])
    text, data = read(tmp_path / "p.html")
    sentence = data["sentences"][0]
    np.testing.assert_allclose((numbers(text)[:2] - sentence["o"][0]) * sentence["z"][0], [0.5, -0.25], atol=2e-4)


def test_nothing_is_loaded_and_only_our_script_may_run(tmp_path, pair):
    write_page(tmp_path / "p.html", [pair])
    text, _ = read(tmp_path / "p.html")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'")
    for kind, tag in (("script", "script"), ("style", "style")):
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        assert len(inline) == 1
        digest = base64.b64encode(hashlib.sha256(inline[0].encode("utf-8")).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|eval|innerHTML|insertAdjacentHTML)\b", text)


def test_text_cannot_end_the_script_it_stands_in(tmp_path, make):
    words = ["</script><script>alert(1)</script>", "<!--", "&lt;", "\u2028", '"', "'", "\\", "😀"]
    pair = make(0, words, words, np.random.default_rng(0), gold=False)
    write_page(tmp_path / "p.html", [pair], title="</script><b>&")
    text, data = read(tmp_path / "p.html")
    assert data["sentences"][0]["s"]["w"] == words
    assert data["title"] == "</script><b>&"
    assert "alert(1)</script>" not in text
    assert text.count("</script>") == 3  # numbers, data, ours


def test_pairs_of_other_methods_and_no_pairs_are_refused(tmp_path, make):
    rng = np.random.default_rng(0)
    pairs = [make(0, ["a"], ["b"], rng), make(1, ["a"], ["b"], rng, layers=2)]
    with pytest.raises(NormalignError, match="sentence 2 has other methods, layers or heads"):
        write_page(tmp_path / "p.html", pairs)
    with pytest.raises(NormalignError, match="no sentence to show"):
        write_page(tmp_path / "p.html", [])
    assert list(tmp_path.iterdir()) == []
