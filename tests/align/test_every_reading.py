"""What is drawn from a checkpoint is what the aligner reads from it."""

from __future__ import annotations

import json

import numpy as np

from fairseq_normalign.align.survey import read_pairs
from fairseq_normalign.cli import main
from fairseq_normalign.links.words import to_words


def test_every_layer_and_head_in_the_order_of_the_lines(plain_checkpoint, binarized, bitext):
    import fairseq_normalign

    sides = ((bitext / f"small.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en"))
    lines = [(number, *pair) for number, pair in enumerate(zip(*sides, strict=True))]
    lines.insert(2, (99, "d1", ""))  # cannot be aligned
    direction = fairseq_normalign.load(plain_checkpoint, data=binarized).aligner.forward
    lost: list[tuple[int, str]] = []
    pairs = list(
        read_pairs(direction, lines, ["weights", "norms"], heads=True, skipped=lambda *told: lost.append(told))
    )
    assert [pair.id for pair in pairs] == [0, 1, 2, 3, 4]
    assert lost == [(99, "empty")]
    model = fairseq_normalign.load(plain_checkpoint, data=binarized, layer=1)
    for pair, (_, source, target) in zip(pairs, [line for line in lines if line[0] != 99], strict=True):
        expected = model.align(source, target, every_layer=True)
        assert pair.source.by_word.words == expected.source
        reading = pair.readings["norms"]
        assert reading.heads.shape[:2] == (3, 2)
        words = to_words(reading.steps, pair.target.by_word, pair.source.by_word, "awi")[0]
        np.testing.assert_allclose(words, list(expected.readings.values()), rtol=1e-4, atol=1e-6)


def test_view_of_a_checkpoint_writes_a_page(plain_checkpoint, binarized, bitext, tmp_path, capsys):
    texts = ["--source", str(bitext / "small.de"), "--target", str(bitext / "small.en")]
    model = ["--path", str(plain_checkpoint), "--data", str(binarized), "--cpu"]
    assert main(["view", *model, *texts, "--html", str(tmp_path / "p.html")]) == 0
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    found = [(method["name"], method["layers"]) for method in data["methods"]]
    assert found[:2] == [("weights", 3), ("norms", 3)]
    assert found[2:] == [("AWI look (norms 1)", 1), ("AWO look (norms 3)", 1), ("two looks", 1)]
    assert len(data["sentences"]) == 5
    capsys.readouterr()
    assert main(["view", *model, "--source-text", "d1 d2", "--target-text", "x2 x1", "--method", "norms"]) == 0
    assert capsys.readouterr().out.startswith("sentence 1 · norms, layer 1, AWI")
