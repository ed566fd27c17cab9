from __future__ import annotations

import random

import pytest

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.projection.document import read_document

PAGE = """<!DOCTYPE html>
<html lang="de"><head><title>Ein Titel</title><style>p { color: red }</style></head>
<body>
<h1 class="x">Guten <em>Tag</em></h1>
<p>Ein Satz
über zwei Zeilen &amp; mehr.<br>Noch einer.</p>
<pre>nicht
übersetzen</pre>
<ul><li>eins</li><li><a href="b.html">zwei</a></li><li> <img src="x.png"> </li></ul>
<script>if (a < b) { p("<p>"); }</script>
<table><tr><td>1</td><td>—</td></tr></table>
</body></html>
"""


def test_lines_of_a_page():
    assert read_document(PAGE).lines == [
        "Ein Titel",
        "Guten <em>Tag</em>",
        "Ein Satz über zwei Zeilen &amp; mehr.",
        "Noch einer.",
        "eins",
        '<a href="b.html">zwei</a>',
        "1",
    ]


def test_a_comment_does_not_end_a_line():
    assert read_document("<p>a <!-- c --> b</p><!-- d -->").lines == ["a <!-- c --> b"]


def test_elements_that_are_not_translated_stay_as_they_are():
    page = '<p>a</p><div class="x notranslate">b<div>c</div>d</div><p translate="no">e</p><td>f <code>g</code></td>'
    assert read_document(page).lines == ["a", "f <code>g</code>"]


def test_a_page_filled_with_its_own_lines_is_the_page_but_for_line_ends():
    page = read_document(PAGE)
    assert page.filled(page.lines).replace("\n", " ") == PAGE.replace("\n", " ")


def test_only_the_lines_change():
    page = read_document(PAGE)
    filled = page.filled([f"L{n}" for n in range(len(page.lines))])
    assert read_document(filled).lines == [f"L{n}" for n in range(len(page.lines))]
    assert "<pre>nicht\nübersetzen</pre>" in filled
    assert "<title>L0</title>" in filled


def test_any_characters():
    rng = random.Random(0)
    for _ in range(500):
        page = "".join(rng.choice("<>/ab p=\"'&;!-\n b<p></b>") for _ in range(rng.randint(0, 60)))
        found = read_document(page)
        assert found.filled(found.lines).replace("\n", " ") == page.replace("\n", " ")


def test_a_wrong_number_of_lines_is_refused():
    with pytest.raises(NormalignError, match="2 lines for a page that has 1"):
        read_document("<p>a</p>").filled(["a", "b"])
