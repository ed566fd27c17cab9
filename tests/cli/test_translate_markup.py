"""translate --markup, translate --page and project --path: strip, translate, align, put the tags back."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

import pytest

from fairseq_normalign.cli import main
from fairseq_normalign.projection.markup import strip_markup

LINES = ["w1 <b>w2 <i>w3</i></b> w4", "<br/>", 'w5@@ w1 <a href="x?a&amp;b">w7</a> {0} w8']
PAGE = """<html><head><title>w1 w2</title></head><body>
<h1>w3 <em>w4</em></h1>
<p>w6 <b>w7 &amp; w8</b><br>w9 <a href="x">w11</a> <code>w3</code></p><pre>w1 w2</pre><p translate="no">w4</p>
</body></html>
"""


class Tags(HTMLParser):
    """Counts tags, and holds that they nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.count: Counter[str] = Counter()
        self.open: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.count[tag] += 1
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def model(tiny_pair) -> list[str]:
    return [*map(str, ["--path", tiny_pair.path(), "--data", tiny_pair.folder, "--cpu"]), *tiny_pair.reverse()]


def translate(model, *arguments: object) -> int:
    return main(["translate", *model, *map(str, arguments)])


def test_lines_are_translated_without_their_tags_and_get_them_back(model, tmp_path, capsys):
    (tmp_path / "marked").write_text("\n".join(LINES) + "\n")
    (tmp_path / "bare").write_text("\n".join(map(strip_markup, LINES)) + "\n")
    assert translate(model, "--markup", "--source", tmp_path / "marked", "-o", tmp_path / "out") == 0
    assert "normalign translate: 7 tags" in capsys.readouterr().err
    assert translate(model, "--source", tmp_path / "bare", "-o", tmp_path / "plain") == 0
    found, plain = ((tmp_path / name).read_text().split("\n") for name in ("out", "plain"))
    assert found[1] == "<br/>"
    for number in (0, 2):
        assert " ".join(strip_markup(found[number]).split()) == plain[number]
        assert Tags(found[number]).count == Tags(LINES[number]).count
    assert found[2].count("{0}") == 1
    assert '<a href="x?a&amp;b">' in found[2]


def test_a_page_keeps_its_frame_and_its_tags(model, tmp_path, capsys):
    (tmp_path / "page.html").write_text(PAGE)
    assert translate(model, "--page", tmp_path / "page.html", "-o", tmp_path / "out.html") == 0
    page = (tmp_path / "out.html").read_text()
    assert Tags(page).count == Tags(PAGE).count
    assert "<pre>w1 w2</pre>" in page
    assert "<code>w3</code>" in page
    assert '<p translate="no">w4</p>' in page
    assert page != PAGE
    assert "7 tags" in capsys.readouterr().err


def test_project_aligns_by_a_model_as_through_the_links_of_align(model, tmp_path, capsys):
    source = ["w1 <b>w2 <i>w3</i></b> w4", "w6 <a>w7</a> w8 w9"]
    target = ["w11 w12 w13 w14", "w16 w17 w18"]
    for name, lines in {"s": source, "bare": map(strip_markup, source), "t": target}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    sides = ["--target", str(tmp_path / "t"), "--readings", "1:awi,3:awo"]
    assert main(["align", *model, "--source", str(tmp_path / "bare"), *sides, "-o", str(tmp_path / "l")]) == 0
    marked = ["project", "--markup", "--source", str(tmp_path / "s"), "--target", str(tmp_path / "t")]
    assert main([*marked, "--links", str(tmp_path / "l"), "-o", str(tmp_path / "one")]) == 0
    assert main([*marked, *model, "--readings", "1:awi,3:awo", "-o", str(tmp_path / "two")]) == 0
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text()
    capsys.readouterr()
    (tmp_path / "t").write_text("w1\n")
    assert main([*marked, *model]) == 2
    assert "s:2: no line of" in capsys.readouterr().err
    (tmp_path / "t").write_text("w1\nw5@@ w2\n")
    assert main([*marked, *model]) == 2
    assert "'w5@@ w2' has 2 words, and 1 to the model" in capsys.readouterr().err
