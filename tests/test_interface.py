"""The public Python interface: names, both directions, many pairs, threads, mistakes."""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fairseq_normalign
from fairseq_normalign import NormalignError, load
from fairseq_normalign.align.aligner import Aligner
from fairseq_normalign.interface import AlignmentModel
from tests.cli.tiny_pair import LONGEST, TinyPair, make_tiny_pair


@pytest.fixture(scope="module")
def tiny_pair(tmp_path_factory) -> TinyPair:
    return make_tiny_pair(tmp_path_factory.mktemp("interface"))


@pytest.fixture(scope="module")
def pairs(tiny_pair) -> list[tuple[str, str]]:
    sides = [(tiny_pair.folder / f"text.{side}").read_text().splitlines() for side in ("de", "en")]
    return list(zip(*sides, strict=True))


@pytest.fixture(scope="module")
def model(tiny_pair):
    return load(tiny_pair.path(), reverse=tiny_pair.path("en-de"), data=tiny_pair.folder, reverse_data=tiny_pair.folder)


def test_every_public_name_is_there_and_documented():
    for name in fairseq_normalign.__all__:
        value = getattr(fairseq_normalign, name)
        assert name in dir(fairseq_normalign)
        if name != "__version__":
            assert value.__doc__, name
    with pytest.raises(AttributeError, match="no_such_name"):
        fairseq_normalign.no_such_name  # noqa: B018


def test_many_pairs_align_as_each_alone(model, pairs):
    counted: list[int] = []
    together = list(model.align_many(iter(pairs), progress=counted.append, window=7))
    assert sum(counted) == len(pairs)
    for (source, target), found in zip(pairs, together, strict=True):
        alone = model.align(source, target)
        assert found.links == alone.links
        assert found.source == tuple(source.replace("@@ ", "").split())
        assert found.soft.shape == (len(found.target), len(found.source))
        assert found.confidence == pytest.approx(alone.confidence, abs=1e-5)
        assert all(0 <= value <= 1 for value in found.confidence)
        np.testing.assert_allclose(found.soft, alone.soft, atol=1e-5)


def test_what_links_cannot_say_is_said(model):
    empty, long, good = model.align_many([("w1", ""), ("w1 " * LONGEST, "w2"), ("w1 w2", "w3")], score=True)
    assert (empty.skipped, empty.links, empty.soft, empty.score) == ("empty", [], None, None)
    assert long.skipped == "too long"
    assert good.skipped is None
    assert good.score < 0


def test_written_links_are_scored_and_read_back(model, pairs, tmp_path):
    links = [found.links for found in model.align_many(pairs)]
    fairseq_normalign.write_links(tmp_path / "links.talp", links, format="talp")
    assert fairseq_normalign.read_links(tmp_path / "links.talp", base=1, reverse=False) == links
    golds = fairseq_normalign.read_gold(tmp_path / "links.talp", base=1, reverse=False)
    assert fairseq_normalign.score(golds, links).aer == 0
    assert fairseq_normalign.symmetrize(links[0], links[0], "intersection") == links[0]


def test_an_alignment_draws_itself(model, tmp_path):
    found = model.align("w1 w2 w3", "w4 w6")
    text = found.draw()
    assert "w6" in text
    assert "sentence 1" not in text  # nobody knows which one it is
    assert found.draw(tmp_path / "pair.svg") is None
    assert (tmp_path / "pair.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "<svg" in found._repr_html_()


def test_translations_come_with_alignments_of_both_directions(model):
    best, second = model.translate("w1 w2 w3", beam=3, nbest=2)
    assert best.score >= second.score
    both = model.translate(["w1 w2 w3", "w4"], beam=3)
    assert [len(one) for one in both] == [1, 1]
    assert both[0][0].target == best.target
    assert all(source < 3 for source, _ in best.links)


def test_one_model_serves_several_threads(model, pairs):
    expected = [found.links for found in model.align_many(pairs[:8])]
    wrong: list[object] = []

    def work() -> None:
        try:
            for _ in range(3):
                for (source, target), links in zip(pairs[:8], expected, strict=True):
                    if model.align(source, target).links != links:
                        wrong.append((source, target))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": "best"}, "layer: 'best' is not a whole number from 1 on"),
        ({"layer": 9}, "there is no decoder layer 9; the model has 3"),
        ({"readings": "1.9:awi"}, "there is no head 9"),
        ({"readings": "1:awi", "layer": 1}, "not both"),
        ({"readings": "first"}, "is not a reading"),
        ({"symmetrize": "magic"}, "unknown symmetrize 'magic'"),
        ({"decision": "magic"}, "unknown decision 'magic'"),
        ({"precision": "fp8"}, "unknown precision 'fp8'"),
        ({"method": "magic"}, "no method 'magic'"),
        ({"floor": 2.0}, "from 0 to 1"),
        ({"tokenizer": "magic"}, "unknown tokenizer 'magic'"),
    ],
)
def test_mistakes_are_in_the_words_of_python(tiny_pair, options, message):
    with pytest.raises(NormalignError) as caught:
        load(tiny_pair.path(), data=tiny_pair.folder, **options).align("w1 w2", "w3")
    assert message in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_pair_that_is_none_is_refused(model):
    with pytest.raises(NormalignError, match="two strings or two lists of words"):
        list(model.align_many(["w1 w2"]))


def test_readings_are_chosen_by_the_text_when_asked(tiny_pair, pairs):
    chosen = load(tiny_pair.path(), data=tiny_pair.folder, readings="auto")
    assert str(chosen.expert) == "norms:1:awi,norms:3:awo^0.5"
    (line,) = chosen.choose(pairs * 4)
    assert line.startswith("reads norms:")
    assert Path(tiny_pair.path()).is_file()


def test_list_methods_names_every_method():
    methods = fairseq_normalign.list_methods()
    assert {"norms", "weights", "rollout"} <= set(methods)
    assert all(methods.values())


def test_a_check_is_that_of_the_command(tiny_pair, pairs, model, tmp_path):
    from fairseq_normalign.cli import main

    out = tmp_path / "out"
    default = ("--readings", str(model.expert), "--full", "--json", "--by-word", "-o", str(out))
    assert main(["check", *tiny_pair.arguments(), *tiny_pair.reverse(), *default]) == 0
    entries = [json.loads(line) for line in out.read_text().splitlines()]
    together = list(model.check_many(iter(pairs), full=True, window=7))
    for entry, found in zip(entries, together, strict=True):
        assert found.score == pytest.approx(entry["score"], abs=1e-4)
        assert {name: found.numbers[name] for name in found.numbers} == pytest.approx(
            {name: entry[name] for name in found.numbers}, abs=1e-3
        )
        assert [list(link) for link in found.links] == entry["links"]
        assert (found.without_source, found.without_target) == (entry["without_source"], entry["without_target"])
    alone = model.check(*pairs[0])
    assert alone.score == pytest.approx(together[0].score, abs=1e-4)
    assert "source_share" not in alone.numbers
    empty, long = model.check_many([("w1", ""), ("w1 " * LONGEST, "w2")])
    assert (empty.skipped, empty.score, empty.source, empty.links) == ("empty", None, ("w1",), [])
    assert long.skipped == "too long"


@pytest.mark.parametrize("options", [{"symmetrize": "grow-diag"}, {"decision": "itermax"}, {"readings": "1:awi"}])
def test_a_check_works_however_links_are_decided(tiny_pair, pairs, model, options):
    data = {"data": tiny_pair.folder, "reverse_data": tiny_pair.folder}
    other = load(tiny_pair.path(), tiny_pair.path("en-de"), **data, **options).check(*pairs[0])
    assert other.numbers["gain"] == pytest.approx(model.check(*pairs[0]).numbers["gain"], abs=1e-5)
    assert 0 < other.numbers["agreement"] <= 1


def test_pieces_cannot_be_checked(tiny_pair):
    with pytest.raises(NormalignError, match="a check is about words"):
        load(tiny_pair.path(), data=tiny_pair.folder, level="piece").check("w1", "w2")


@pytest.mark.parametrize("threads", [True, False])
def test_an_executor_shares_the_work(model, pairs, threads):
    kind = ThreadPoolExecutor(2) if threads else ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    with kind as executor:
        shared = [
            list(model.align_many(pairs, executor=executor, window=7, score=True)),
            list(model.check_many(pairs[:9], executor=executor, window=7)),
            model.translate([source for source, _ in pairs[:5]], executor=executor, beam=2),
        ]
    alone = [
        list(model.align_many(pairs, window=7, score=True)),
        list(model.check_many(pairs[:9], window=7)),
        model.translate([source for source, _ in pairs[:5]], beam=2),
    ]
    assert [(one.links, one.confidence, one.score) for one in shared[0]] == [
        (one.links, one.confidence, one.score) for one in alone[0]
    ]
    assert shared[1] == alone[1]
    assert [[one.links for one in some] for some in shared[2]] == [[one.links for one in some] for some in alone[2]]


def test_lists_of_words_are_sentences(model, pairs):
    source, target = pairs[0]
    assert model.align(source.split(), target.split()).links == model.align(source, target).links
    with pytest.raises(NormalignError, match="list of words without spaces"):
        model.align(["w1 w2"], target)


def test_a_model_is_copied_pickled_and_shown(model, pairs):
    assert repr(model).startswith("<AlignmentModel: TransformerModel (3 decoder layers) reads norms:")
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.align(*pairs[0]).links == model.align(*pairs[0]).links
    model = AlignmentModel(Aligner(model.aligner.forward))
    with pytest.raises(NormalignError, match="not made by load"):
        pickle.dumps(model)


def test_markup_and_labels_are_carried_to_a_translation(model):
    assert model.project_markup("w1 <b>w2</b> w3", "w4 w6 w8").line == "w4 <b>w6</b> w8"
    links = model.align("w1 w2 w3", "w4 w6 w8").links
    (found,) = model.project_labels("w1 w2 w3", "w4 w6 w8", [(0, 8, "ALL")])
    assert found[2] == "ALL"
    assert {target for _, target in links} >= {found[0] // 3}
    with pytest.raises(NormalignError, match="outside the line"):
        model.project_labels("w1", "w4", [(0, 9, "PER")])
