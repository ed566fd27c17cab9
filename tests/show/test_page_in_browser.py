"""The page in a real browser: what it shows against what numpy computes."""

from __future__ import annotations

import itertools
import os
import shutil
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from fairseq_normalign.links.pieces import Sentence
from fairseq_normalign.links.read_pair import PairFlags, ReadPair, links_of, soft_of
from fairseq_normalign.links.readings import MethodReading, Reading, every_reading
from fairseq_normalign.links.score import score
from fairseq_normalign.show.page import write_page

pytestmark = pytest.mark.browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WORDS = "die Lage war sehr schwierig für unser Europa und den ganzen Markt gestern Abend".split()


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install playwright)")
    found = os.environ.get("NORMALIGN_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser found: none of {', '.join(BROWSERS)} on the PATH, and NORMALIGN_BROWSER is not set")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield launched
        launched.close()


@pytest.fixture
def show(browser, tmp_path):
    """Write a page and open it from disk; complaints of the page and calls to a network fail the test."""
    contexts, troubles = [], []

    def opened(pairs, *, context=None, wait=True, **options):
        path = tmp_path / "page.html"
        write_page(path, pairs, **options)
        contexts.append(browser.new_context(**{"viewport": {"width": 1300, "height": 950}, **(context or {})}))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (troubles.append("a dialog opened"), dialog.dismiss()))
        page.on("request", lambda request: None if request.url.startswith("file:") else troubles.append(request.url))
        page.goto(path.as_uri())
        if wait:
            page.wait_for_selector("#view[data-drawn]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def pairs(make):
    rng = np.random.default_rng(11)
    sizes = [(3, 4), (6, 5), (9, 8), (5, 7), (12, 10)]
    return [
        make(n, WORDS[: size[0]], [word.upper() for word in WORDS[: size[1]]], rng, heads=2, links=True)
        for n, size in enumerate(sizes)
    ]


def drawn(page, choice, pair, *, level="word", view="matrix"):
    """Wait until the page shows the choice."""
    head = -1 if choice.head is None else choice.head
    name = "|".join(map(str, (pair.id, choice.method, choice.layer, head, choice.step, level, view)))
    page.wait_for_function("name => document.querySelector('#view').dataset.drawn === name", arg=name)


def hover_cell(page, shape, source, target):
    page.locator("#cells").scroll_into_view_if_needed()
    box = page.locator("#cells").bounding_box()
    page.mouse.move(
        box["x"] + (source + 0.5) * box["width"] / shape[1], box["y"] + (target + 0.5) * box["height"] / shape[0]
    )
    return page.locator("#tip").inner_text().split("\n")


def check_numbers(page, pair, choice, level="word"):
    """Hover some cells and read value, share and verdict."""
    soft = soft_of(pair, choice, level)
    columns = soft.shape[1] + (level == "piece")  # the end of sentence is shown among pieces
    for target, source in itertools.product(range(0, soft.shape[0], 2), range(0, soft.shape[1], 2)):
        lines = hover_cell(page, (soft.shape[0], columns), source, target)
        side = [pair.source.at(level).words[source], pair.target.at(level).words[target]]
        assert lines[0] == " → ".join(side)
        value, share = lines[1].replace(" % of the row", "").split(" · ")
        assert float(value) == pytest.approx(soft[target, source], rel=0.01, abs=0.0015 * float(soft.max()))
        assert float(share) == pytest.approx(100 * soft[target, source] / soft[target].sum(), abs=0.2)


def test_hovering_reads_the_numbers_of_numpy(show, pairs):
    choice = Reading("norms", 1, None, "awi")
    page = show(pairs, start=choice)
    drawn(page, choice, pairs[0])
    links = set(links_of(pairs[0], choice))
    soft = soft_of(pairs[0], choice)
    for target, source in np.ndindex(*soft.shape):
        said = [*hover_cell(page, soft.shape, source, target), ""][2]
        link, gold = (source, target), pairs[0].gold
        kind = "sure" if link in gold.sure else "possible" if link in gold.possible else ""
        if link in links:
            assert said == (f"link, {kind} in the gold" if kind else "link, wrong")
        else:
            assert said == {"sure": "sure in the gold, missed", "possible": "possible in the gold", "": ""}[kind]


def test_switches_change_method_layer_head_setting_and_level(show, pairs):
    page = show(pairs, start=Reading("weights", 0, None, "awo"))
    pair = pairs[0]
    drawn(page, Reading("weights", 0, None, "awo"), pair)
    page.click("#switch-method label:has-text('norms')")
    page.click("#switch-layer label:nth-of-type(3)")
    choice = Reading("norms", 2, None, "awo")
    drawn(page, choice, pair)
    check_numbers(page, pair, choice)
    page.click("#switch-step label:has-text('AWI')")
    page.click("#switch-head label:nth-of-type(3)")
    choice = Reading("norms", 2, 1, "awi")
    drawn(page, choice, pair)
    check_numbers(page, pair, choice)
    page.click("#switch-level label:has-text('pieces')")
    drawn(page, choice, pair, level="piece")
    check_numbers(page, pair, choice, "piece")
    assert (
        "no word"
        in hover_cell(page, (len(pair.target.pieces), len(pair.source.pieces)), len(pair.source.pieces) - 1, 0)[1]
    )


def test_scores_of_sentence_and_corpus_are_the_scorers(show, pairs):
    page = show(pairs, start=Reading("norms", 0, None, "awi"))
    golds = [pair.gold for pair in pairs]
    for row in page.locator("#strips table").first.locator("tbody tr").all():
        label = row.locator("th").inner_text()
        for layer, cell in enumerate(row.locator("button").all()):
            method, _, step = label.partition(" ")
            choice = Reading(method, layer, None, step.lower())
            expected = score(golds, [links_of(pair, choice) for pair in pairs]).aer
            assert cell.inner_text().strip() == f"{100 * expected:.1f}"
    choice = Reading("weights", 2, None, "awo")
    page.get_by_role("button", name="weights AWO, layer 3").click()
    drawn(page, choice, pairs[0])
    one = score(golds[:1], [links_of(pairs[0], choice)])
    numbers = [part.inner_text() for part in page.locator("#scores b").all()]
    assert numbers == [f"{100 * value:.1f}" for value in (one.aer, one.precision, one.recall)]


def test_the_list_sorts_by_aer_and_searches(show, pairs):
    choice = Reading("norms", 0, None, "awi")
    page = show(pairs, start=choice)
    rates = {pair.id: score([pair.gold], [links_of(pair, choice)]).aer for pair in pairs}
    page.select_option("#sort", "worst")
    shown = [row.inner_text() for row in page.locator(".row .number").all()]
    assert shown == [f"#{number + 1}" for number in sorted(rates, key=lambda number: (-rates[number], number))]
    assert page.locator(".row .rate").first.inner_text() == f"{100 * max(rates.values()):.1f}"
    page.fill("#search", "MARKT")  # only the longest source has the word
    assert page.locator("#found").inner_text() == "1 of 5 sentences"
    page.locator(".row").click()
    drawn(page, choice, pairs[4])
    page.fill("#search", "#2")
    assert page.locator(".row .number").inner_text() == "#2"
    page.fill("#search", "zzz")
    assert page.locator(".row").count() == 0


def test_linked_words_draw_every_link_right_wrong_and_missed(show, pairs):
    choice = Reading("norms", 0, None, "awi")
    page = show(pairs, start=choice)
    page.click("#switch-view label:has-text('linked words')")
    drawn(page, choice, pairs[0], view="words")
    links, gold = set(links_of(pairs[0], choice)), pairs[0].gold
    kinds = {"right": links & gold.possible, "wrong": links - gold.possible, "missed": gold.sure - links}
    for kind, expected in kinds.items():
        lines = page.locator(f"#linked path.line.{kind}").all()
        ends = {(int(line.get_attribute("data-source")), int(line.get_attribute("data-target"))) for line in lines}
        assert ends == expected
    for kind, signs in (("wrong", len(kinds["wrong"])), ("missed", len(kinds["missed"]))):
        assert page.locator(f"#linked .sign.{kind}").count() == signs  # told by shape, not by colour alone
    target = next(iter(links))[1]
    page.locator(f"#linked [data-side=target][data-index='{target}']").hover()
    assert page.locator("#detail h3").inner_text() == f"{pairs[0].target.words[target]} ← source"
    best = page.locator("#detail tr.link td.n").first.inner_text()
    assert float(best) == pytest.approx(soft_of(pairs[0], choice)[target].max(), rel=0.01)
    touching = [link for kind in kinds.values() for link in kind if link[1] == target]
    assert page.locator("#linked path.line.on").count() == len(touching)


def test_other_aligners_links_have_no_numbers(show, pairs):
    page = show(pairs)
    page.click("#switch-method label:has-text('other')")
    drawn(page, Reading("other", 0, None, ""), pairs[0])
    assert page.locator("#cells rect.frame").count() == len(pairs[0].readings["other"].links)
    assert page.locator("#switch-decision").count() == 0
    tables = [table.locator("tbody th").all_inner_texts() for table in page.locator("#strips table").all()]
    assert tables == [["weights AWO", "weights AWI", "norms AWO", "norms AWI"], ["other"]]  # it has no layer


def test_threshold_recounts(show, pairs):
    choice = Reading("norms", 0, None, "awi")
    page = show(pairs, start=choice)
    page.click("#switch-decision label:has-text('threshold')")
    page.locator("#threshold").fill("0.3")
    page.locator("#live", has_text="30.0 %: AER").wait_for(state="attached")
    links = [links_of(pair, choice, threshold=0.3) for pair in pairs]
    whole, first = score([pair.gold for pair in pairs], links), score([pairs[0].gold], links[:1])
    assert f"AER {100 * whole.aer:.1f}." in page.locator("#live").inner_text()
    assert page.locator("#aer").inner_text() == f"{100 * first.aer:.1f}"
    assert page.locator("#cells rect.frame").count() == len(links[0])


def test_keys(show, pairs):
    choice = Reading("norms", 0, None, "awi")
    page = show(pairs, start=choice)
    drawn(page, choice, pairs[0])
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    drawn(page, choice, pairs[1])
    for key in "2am]":
        page.keyboard.press(key)
    drawn(page, Reading("other", 0, None, ""), pairs[1])
    page.keyboard.press("m")
    page.keyboard.press("2")
    drawn(page, Reading("weights", 1, None, "awo"), pairs[1])
    page.keyboard.press("]")
    page.keyboard.press("v")
    drawn(page, Reading("weights", 1, 0, "awo"), pairs[1], view="words")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#detail h3").inner_text() == f"{pairs[1].target.words[1]} ← source"
    page.keyboard.press("Escape")
    assert page.locator("#detail h3").count() == 0
    page.keyboard.press("g")
    assert page.locator("#switch-gold input:checked").get_attribute("value") == "off"
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("jkm")  # letters in the search are letters
    assert page.locator("#search").input_value() == "jkm"


def test_without_gold_nothing_is_judged(show, make):
    page = show([make(0, ["ein", "Haus"], ["a", "house"], np.random.default_rng(5), gold=False)])
    assert page.locator("#strips table, #switch-gold, #cells .wrong").count() == 0
    assert page.locator("#sort option").count() == 3
    assert page.locator("#cells rect.frame.right").count() == 2


NASTY = [
    "<script>window.hacked=1</script>",
    "</script>",
    '"quoted"',
    "it's",
    "R&B",
    "&lt;",
    "😀👩‍🚀",
    "<img/src=x/onerror=alert(1)>",
    "${x}",
    "שלום",
]


def test_text_is_shown_literally_and_runs_nothing(show, make):
    pair = make(0, NASTY, NASTY[::-1], np.random.default_rng(2))
    page = show([pair], title="<b onclick=alert(1)>T</b>")
    assert page.title() == "<b onclick=alert(1)>T</b>"
    assert page.locator("#title").inner_text() == "<b onclick=alert(1)>T</b>"
    assert page.locator(".row .line").first.text_content() == " ".join(NASTY)
    page.keyboard.press("v")
    page.wait_for_selector("#linked")
    assert page.locator("#linked [data-side=source]").all_text_contents() == NASTY
    page.locator("#linked [data-side=source]").first.hover()
    assert page.locator("#detail h3 bdi").text_content() == NASTY[0]
    page.keyboard.press("v")
    page.wait_for_selector("#cells")
    lines = hover_cell(page, (len(NASTY), len(NASTY)), 0, len(NASTY) - 1)
    assert lines[0] == f"{NASTY[0]} → {NASTY[0]}"
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, b[onclick]").count() == 0


def test_right_to_left_sentences_begin_at_the_right(show, make):
    pair = make(0, ["שלום", "עולם", "טוב"], ["hello", "good", "world"], np.random.default_rng(2))
    page = show([pair])
    page.keyboard.press("v")
    page.wait_for_selector("#linked")
    places = [word.bounding_box()["x"] for word in page.locator("#linked [data-side=source]").all()]
    assert places == sorted(places, reverse=True)
    places = [word.bounding_box()["x"] for word in page.locator("#linked [data-side=target]").all()]
    assert places == sorted(places)


def test_a_phone_shows_the_alignment_first_and_nothing_sideways(show, make):
    rng = np.random.default_rng(4)
    long = "Donaudampfschifffahrtsgesellschaftskapitänskajütenschlüsselbund" * 2
    pairs = [make(n, WORDS, WORDS[::-1], rng, heads=4) for n in range(3)]
    words = [*WORDS, long]
    every = tuple(range(len(words)))
    pairs.append(replace(make(3, words, words[::-1], rng, heads=4), flags=PairFlags(-9.0, every, every)))
    page = show(pairs, context={"viewport": {"width": 360, "height": 700}})
    assert page.locator("#check mark.lone").count() == 2 * len(words)  # the lowest score comes first
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.click("#list-toggle")
    page.locator(".row").nth(3).click()
    assert not page.locator("#list").is_visible()
    page.wait_for_function("() => document.querySelector('#where').textContent === 'Sentence 3'")
    assert page.locator("#view").bounding_box()["y"] < 400
    assert not page.locator("#switches").is_visible()
    page.click("#controls summary")
    assert page.locator("#switches").is_visible()
    page.keyboard.press("v")
    page.wait_for_selector("#linked.stacked")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#view").bounding_box()["width"] <= 360


def test_light_and_dark(show, make):
    pair = make(0, ["ein", "Haus"], ["a", "house"], np.random.default_rng(5))
    page = show([pair], context={"color_scheme": "dark"})
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")
    light = page.evaluate(ground)
    assert sum(map(int, dark[4:-1].split(","))) < 200 < 600 < sum(map(int, light[4:-1].split(",")))


def test_the_address_names_what_is_shown(show, pairs):
    page = show(pairs)
    page.evaluate("location.hash = 'sentence=4&method=norms&layer=2&step=awo&view=words'")
    page.reload()
    drawn(page, Reading("norms", 1, None, "awo"), pairs[3], view="words")


def test_two_panels_sorted_by_difference_filtered_and_opened_on_the_best(show, pairs):
    page = show(pairs, beside=Reading("weights", 0, None, "awo"))
    rates = {
        reading: score([pair.gold for pair in pairs], [links_of(pair, reading) for pair in pairs]).aer
        for name, found in pairs[0].readings.items()
        for reading in every_reading(name, found.shape)
        if reading.head is None
    }
    best = min(rates, key=rates.get)
    drawn(page, best, pairs[0])
    beside = min((one for one in rates if (one.method, one.step) == ("weights", "awo")), key=rates.get)
    assert page.locator("#second-view .cells rect.frame").count() == len(links_of(pairs[0], beside))
    assert page.locator("#second-name").inner_text().startswith(f"weights, layer {beside.layer + 1}, AWO")
    own = {pair.id: [score([pair.gold], [links_of(pair, one)]).aer for one in (best, beside)] for pair in pairs}
    page.select_option("#sort", "gain")
    expected = sorted(own, key=lambda number: (own[number][0] - own[number][1], number))
    assert [row.inner_text() for row in page.locator(".row .number").all()] == [f"#{n + 1}" for n in expected]
    page.select_option("#filter", "missed")
    missed = [pair.id for pair in pairs if pair.gold.sure - set(links_of(pair, best))]
    assert {row.inner_text() for row in page.locator(".row .number").all()} == {f"#{n + 1}" for n in missed}
    page.select_option("#beside", "")
    assert not page.locator("#second").is_visible()


def test_links_are_copied_and_a_picture_is_saved(show, pairs, tmp_path):
    choice = Reading("norms", 1, None, "awi")
    page = show(pairs, start=choice, context={"permissions": ["clipboard-read", "clipboard-write"]})
    drawn(page, choice, pairs[0])
    page.click("#copy")
    page.locator("#taken", has_text="copied").wait_for()
    links = " ".join(f"{s}-{t}" for s, t in links_of(pairs[0], choice))
    assert page.evaluate("navigator.clipboard.readText()") == links
    with page.expect_download() as download:
        page.click("#picture")
    assert download.value.suggested_filename == "sentence-1.svg"
    download.value.save_as(tmp_path / "s.svg")
    picture = ElementTree.parse(tmp_path / "s.svg").getroot()
    words = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert words == ["norms, layer 2, AWI", *pairs[0].source.words, *pairs[0].target.words]
    assert len([one for one in picture.iter() if one.get("class") == "link"]) == len(links.split())


def test_links_are_those_before_rounding(show):
    soft = np.array([[[-0.5, 1.0, 1.0 + 1e-9]]])  # stored with 11 bits and a sign, the last two are the same
    page = show([ReadPair(0, Sentence.of_words("abc"), Sentence.of_words("x"), {"m": MethodReading(words=soft)})])
    cells, frame = (page.locator(one).bounding_box() for one in ("#cells", "#cells rect.frame"))
    assert frame["x"] > cells["x"] + cells["width"] * 0.6
    assert hover_cell(page, (1, 3), 0, 0)[1].startswith("−0.5")


def test_links_that_were_decided_are_shown_over_their_soft_alignment(show, make):
    pair = make(0, WORDS[:4], WORDS[:3], np.random.default_rng(5))
    words = np.full((1, 3, 4), 0.25)
    pair = replace(pair, readings={**pair.readings, "two looks": MethodReading(words=words, links=((1, 0), (2, 2)))})
    choice = Reading("two looks", 0, None, "")
    page = show([pair], start=choice)
    drawn(page, choice, pair)
    assert page.locator("#cells rect.frame").count() == 2
    page.click("#switch-decision label:has-text('threshold')")
    page.wait_for_function("() => document.querySelectorAll('#cells rect.frame').length === 0")


def test_flagged_words_are_marked_in_context_and_the_worst_pair_comes_first(show, make):
    rng = np.random.default_rng(6)
    flags = [
        PairFlags(1.5),
        PairFlags(-3.25, without_source=(1, 2), without_target=(0,), target_gains=(4.0, -0.5, 0.25)),
        None,
        PairFlags(-1.0, without_target=(3,)),
    ]
    pairs = [
        replace(make(n, WORDS[:4], WORDS[4:7], rng, gold=False), flags=found, notes=("typical",) if n == 3 else ())
        for n, found in enumerate(flags)
    ]
    page = show(pairs, start=Reading("norms", 0, None, "awi"))
    numbers = [row.inner_text() for row in page.locator(".row .number").all()]
    assert numbers == ["#2 · score −3.25 · ∅ 3", "#4 · score −1.00 · ∅ 1 · typical", "#1 · score 1.50", "#3"]
    assert page.locator("#where").inner_text() == "Sentence 2"
    said = page.locator("#check p").first.inner_text()
    assert said == "Check: score −3.25 · 2 words without a source · 1 word without a target"
    marked = page.locator("#check mark.lone")
    assert [one.locator("bdi").inner_text() for one in marked.all()] == [WORDS[0], WORDS[5], WORDS[6]]
    assert all("∅" in one.inner_text() for one in marked.all())  # told by a sign, not by colour alone
    assert marked.nth(1).get_attribute("title") == "∅ without a source, gain −0.50"
    assert page.locator("#check .context").nth(1).inner_text().count("(without a source)") == 2
    labels = [text for text in page.locator(".matrix .word.lone text").all_text_contents() if text]
    assert labels == [f"∅ {word}" for word in (WORDS[0], WORDS[5], WORDS[6])]
    page.keyboard.press("v")
    page.wait_for_selector("#linked")
    assert page.locator("#linked button.lone").all_text_contents() == [WORDS[0], WORDS[5], WORDS[6]]
    legend = page.locator("#legend").inner_text()
    assert "the check found no partner" in legend
    assert "doubtful link" in legend
    page.select_option("#filter", "flagged")
    assert page.locator("#found").inner_text() == "2 of 4 sentences"
    page.select_option("#filter", "all")
    page.select_option("#sort", "trust")
    assert page.locator(".row .number").first.inner_text() == "#1 · score 1.50"
    page.locator(".row").last.click()
    page.wait_for_function("() => document.querySelector('#where').textContent === 'Sentence 3'")
    assert not page.locator("#check").is_visible()  # this pair was not checked
