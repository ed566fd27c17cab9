"""Figures: the right words on the right axes, nothing cut off."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Rectangle

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.pieces import Sentence
from fairseq_normalign.links.read_pair import ReadPair, links_of, soft_of
from fairseq_normalign.links.readings import MethodReading, Reading
from fairseq_normalign.show.figures import RIGHT, WRONG, figure_of, save_figure
from fairseq_normalign.show.fonts import missing_letters, note_on_missing, usable_families, visual_order

CHOICES = [Reading("weights", 0), Reading("norms", 0), Reading("norms", 2, None, "awo")]


def test_words_are_on_their_axes_and_the_numbers_in_their_cells(pair):
    figure, _ = figure_of(pair, CHOICES)
    panels = figure.axes
    assert [panel.get_xlabel() for panel in panels] == [
        "reference",
        "weights, layer 1, AWI",
        "norms, layer 1, AWI",
        "norms, layer 3, AWO",
    ]
    for panel in panels:
        assert [label.get_text() for label in panel.get_xticklabels()] == list(pair.source.words)
        assert [label.get_text() for label in panel.get_yticklabels()] == list(pair.target.words)
        top, bottom = panel.get_ylim()
        assert top > bottom  # the first target word is the uppermost
    for panel, choice in zip(panels[1:], CHOICES, strict=True):
        drawn = panel.collections[0].get_array()
        np.testing.assert_allclose(np.asarray(drawn), soft_of(pair, choice), rtol=1e-6)


def frames(panel, colour):
    from matplotlib.colors import to_hex

    return {
        (int(patch.get_x()), int(patch.get_y()))
        for patch in panel.patches
        if isinstance(patch, Rectangle) and not patch.get_fill() and to_hex(patch.get_edgecolor()) == colour
    }


def test_links_are_framed_and_wrong_ones_differently(pair):
    figure, _ = figure_of(pair, CHOICES)
    for panel, choice in zip(figure.axes[1:], CHOICES, strict=True):
        links = set(links_of(pair, choice))
        assert frames(panel, RIGHT) == links & pair.gold.possible
        assert frames(panel, WRONG) == links - pair.gold.possible


def test_gold_is_filled_or_hatched(pair):
    panel = figure_of(pair, CHOICES)[0].axes[0]
    cells = {(int(p.get_x()), int(p.get_y())): bool(p.get_hatch()) for p in panel.patches if p.get_fill()}
    assert {link for link, hatched in cells.items() if not hatched} == pair.gold.sure
    assert {link for link, hatched in cells.items() if hatched} == pair.gold.possible - pair.gold.sure


LONG = [f"Wort{n}" + "lang" * (n % 6) for n in range(55)]


@pytest.mark.parametrize("words", [["a"], ["Straßenbahn", "ältere", "București", "élève"], LONG])
def test_nothing_is_cut_off_or_overlaps(make, words):
    rng = np.random.default_rng(3)
    pair = make(0, words, [word[::-1] for word in words], rng)
    figure, missing = figure_of(pair, CHOICES)
    assert missing == ""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    width, height = figure.bbox.width, figure.bbox.height
    boxes = []
    for panel in figure.axes:
        box = panel.get_tightbbox(renderer)
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= width + 1
        assert box.y1 <= height + 1
        boxes.append(box)
    legend = figure.legends[0].get_window_extent(renderer)
    assert not any(box.overlaps(legend) for box in boxes)
    assert not any(one.overlaps(two) for n, one in enumerate(boxes) for two in boxes[n + 1 :])


def test_pieces_leave_the_end_of_sentence_out(pair):
    figure, _ = figure_of(pair, CHOICES[:1], level="piece")
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == [piece for piece in pair.source.pieces if piece != "</s>"]


def test_files_of_every_format_have_their_signature(pair, tmp_path):
    for name, start in (("f.png", b"\x89PNG"), ("f.svg", b"<?xml"), ("f.pdf", b"%PDF")):
        save_figure(tmp_path / name, [pair], CHOICES)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(NormalignError, match="only a PDF holds several"):
        save_figure(tmp_path / "f.png", [pair, pair], CHOICES)


def test_dollars_and_markup_are_only_text():
    sides = Sentence.of_words(["$x_1$", "a^2", "<b>", "\\alpha"]), Sentence.of_words(["$", "%", "{}", "_"])
    pair = ReadPair(0, *sides, {"$m$": MethodReading(words=np.ones((1, 4, 4)))})
    figure, _ = figure_of(pair, [Reading("$m$", 0, None, "")])
    FigureCanvasAgg(figure).draw()
    drawn = [label.get_text().replace("\\$", "$") for label in figure.axes[0].get_xticklabels()]
    assert drawn == list(sides[0].words)


def test_letters_without_a_font_are_told_in_one_line():
    odd = "\U000f0000"  # private use: no font has it
    assert missing_letters(["Haus", odd], usable_families()) == odd
    assert "\n" not in note_on_missing("私")
    assert "CJK" in note_on_missing("私")


@pytest.mark.parametrize(
    ("word", "seen"),
    [
        ("house", "house"),
        ("שלום", "םולש"),
        ("(טוב)", "(בוט)"),
        ("ב-2020", "2020-ב"),
        ("abc123", "abc123"),
        ("שָׁלוֹם", "םוֹלשָׁ"),
    ],
)
def test_right_to_left_words_as_an_old_matplotlib_needs_them(word, seen):
    assert visual_order(word) == seen
