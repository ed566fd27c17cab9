"""What fairseq-generate prints under our task, in this process: forms, levels, n-best, ensembles, unknown words."""

from __future__ import annotations

import contextlib
import io
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.patches import register
from fairseq_normalign.links.dump import Dump
from fairseq_normalign.links.words import to_words
from tests.conftest import lines_of

register()


CHOOSING = {f"--normalign-{name}" for name in ("layer", "head", "step", "readings", "method")}


def generate(data: Path, checkpoint: object, *options: object, subset: str = "test") -> str:
    """fairseq-generate's own main function; its output. Reads the first layer unless the options choose."""
    if not CHOOSING & set(map(str, options)):
        options += ("--normalign-layer", 1)
    from fairseq import options as host_options
    from fairseq_cli import generate as command

    arguments = [
        *(str(data), "--task", "translation_normalign", "--path", str(checkpoint), "-s", "de", "-t", "en", "--cpu"),
        *("--beam", "3", "--max-len-b", "15", "--gen-subset", subset, "--no-progress-bar", "--num-workers", "0"),
        *map(str, options),
    ]
    args = host_options.parse_args_and_arch(host_options.get_generation_parser(), input_args=arguments)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        command.main(args)
    return output.getvalue()


def pairs(line: str) -> list[tuple[int, int]]:
    return [(int(s), int(t)) for s, t in (pair.split("-") for pair in line.split())]


def sentence(line: str) -> list[str]:
    return line.split("\t")[-1].split()


def raw_text(folder: Path, data: Path, source: str, target: str) -> Path:
    """A data directory with a test set that is text."""
    for name in ("dict.de.txt", "dict.en.txt"):
        shutil.copy(data / name, folder / name)
    for language, text in (("de", source), ("en", target)):
        (folder / f"test.de-en.{language}").write_text(text, encoding="utf-8")
    return folder


RAW = ("--dataset-impl", "raw")


@pytest.fixture(scope="module")
def words(binarized, plain_checkpoint):
    return generate(binarized, plain_checkpoint, "--print-alignment", "hard", "--post-process", "subword_nmt")


def test_links_are_in_words_of_the_printed_sentence(words):
    sources, hypotheses = lines_of(words, "S"), lines_of(words, "H")
    for number, (line,) in lines_of(words, "A").items():
        links = pairs(line)
        assert sorted(target for _, target in links) == list(range(len(sentence(hypotheses[number][0]))))
        assert max(source for source, _ in links) < len(sentence(sources[number][0]))


def test_without_post_process_links_are_in_pieces(binarized, plain_checkpoint):
    output = generate(binarized, plain_checkpoint, "--print-alignment", "hard")
    for number, (line,) in lines_of(output, "A").items():
        assert len(pairs(line)) == len(sentence(lines_of(output, "H")[number][0]))


def test_without_a_choice_two_looks_are_multiplied(binarized, plain_checkpoint):
    import fairseq_normalign

    options = ("--print-alignment", "hard", "--post-process", "subword_nmt", "--score-reference")
    output = generate(binarized, plain_checkpoint, *options, "--normalign-method", "norms")
    model = fairseq_normalign.load(plain_checkpoint, data=binarized)
    assert str(model.expert) == "norms:1:awi,norms:3:awo^0.5"
    pieces = generate(binarized, plain_checkpoint, *options[:2], "--score-reference")
    for number, (line,) in lines_of(output, "A").items():
        source, target = (" ".join(sentence(lines_of(pieces, kind)[number][0])) for kind in ("S", "T"))
        assert model.align(source, target).links == pairs(line)


def test_level_can_be_asked_for(binarized, plain_checkpoint, words):
    asked = generate(binarized, plain_checkpoint, "--print-alignment", "hard", "--normalign-level", "word")
    assert lines_of(asked, "A") == lines_of(words, "A")
    options = ("--print-alignment", "hard", "--post-process", "subword_nmt", "--normalign-level", "piece")
    plain = generate(binarized, plain_checkpoint, "--print-alignment", "hard")
    assert lines_of(generate(binarized, plain_checkpoint, *options), "A") == lines_of(plain, "A")


def test_soft_rows_are_distributions_over_real_words(binarized, plain_checkpoint, words):
    for extra in ((), ("--score-reference",)):
        options = ("--print-alignment", "soft", "--post-process", "subword_nmt", *extra)
        output = generate(binarized, plain_checkpoint, *options)
        for number, (line,) in lines_of(output, "A").items():
            rows = np.array([[float(value) for value in row.split(",")] for row in line.split()])
            shape = (len(sentence(lines_of(output, "H")[number][0])), len(sentence(lines_of(output, "S")[number][0])))
            assert rows.shape == shape
            np.testing.assert_allclose(rows.sum(1), 1, atol=1e-5)
            if not extra:
                best = [(int(source), target) for target, source in enumerate(rows.argmax(1))]
                assert sorted(best) == pairs(lines_of(words, "A")[number][0])


def test_nbest_prints_as_many_alignments_as_hypotheses(binarized, plain_checkpoint, words):
    output = generate(
        binarized, plain_checkpoint, "--print-alignment", "hard", "--post-process", "subword_nmt", "--nbest", 3
    )
    hypotheses, links = lines_of(output, "H"), lines_of(output, "A")
    for number in links:
        assert len(links[number]) == len(hypotheses[number])
        assert links[number][0] == lines_of(words, "A")[number][0]
        for hypothesis, line in zip(hypotheses[number], links[number], strict=True):
            assert len(pairs(line)) == len(sentence(hypothesis))


@pytest.mark.parametrize(
    "options",
    [
        ("--batch-size", 1),
        ("--batch-size", 4),
        ("--max-tokens", 30),
        ("--normalign-dump-heads",),
    ],
)
def test_batches_do_not_matter(binarized, plain_checkpoint, words, options):
    output = generate(
        binarized, plain_checkpoint, "--print-alignment", "hard", "--post-process", "subword_nmt", *options
    )
    assert lines_of(output, "A") == lines_of(words, "A")


@pytest.mark.parametrize(
    "options",
    [("--sampling", "--nbest", 3), ("--prefix-size", 2), ("--beam", 1), ("--diversity-rate", 0.5), ("--fp16",)],
)
def test_other_searches_work_too(binarized, plain_checkpoint, options):
    output = generate(binarized, plain_checkpoint, "--print-alignment", "hard", *options)
    assert sorted(lines_of(output, "A")) == list(range(13))


def test_an_ensemble_of_one_model_twice_is_that_model(binarized, plain_checkpoint, words):
    twice = f"{plain_checkpoint}:{plain_checkpoint}"
    output = generate(binarized, twice, "--print-alignment", "hard", "--post-process", "subword_nmt")
    assert lines_of(output, "A") == lines_of(words, "A")


def test_ensembles_are_averaged_after_normalizing(binarized, plain_checkpoint, our_checkpoint, tmp_path):
    options = ("--score-reference", "--print-alignment", "hard")
    for name, path in {
        "a": plain_checkpoint,
        "b": our_checkpoint,
        "ab": f"{plain_checkpoint}:{our_checkpoint}",
    }.items():
        run_and_complete_dump(binarized, path, *options, "--normalign-dump", tmp_path / name)
    for one, other, both in zip(*(Dump(tmp_path / name) for name in ("a", "b", "ab")), strict=True):
        rows = [pair.layers / pair.layers.sum(-1, keepdims=True) for pair in (one, other)]
        np.testing.assert_allclose(both.layers, (rows[0] + rows[1]) / 2, atol=1e-6)


def run_and_complete_dump(*arguments: object) -> str:
    """In a process of its own the dump is completed when it ends; here the exit handlers are run by hand."""
    import atexit

    registered = []
    original = atexit.register
    atexit.register = lambda function, *args: registered.append((function, args))
    try:
        output = generate(*arguments)
    finally:
        atexit.register = original
    for function, args in registered:
        function(*args)
    return output


def test_a_dump_has_what_was_printed(binarized, plain_checkpoint, words, tmp_path):
    options = ("--post-process", "subword_nmt", "--normalign-dump", tmp_path / "dump", "--normalign-dump-heads")
    run_and_complete_dump(binarized, plain_checkpoint, *options)
    dump = Dump(tmp_path / "dump")
    assert sorted(pair.id for pair in dump) == list(range(13))
    for pair in dump:
        assert pair.source.words == tuple(sentence(lines_of(words, "S")[pair.id][0]))
        assert pair.layers.shape == (3, len(pair.target_pieces) + 1, len(pair.source_pieces))
        assert pair.heads.shape == (3, 2, *pair.layers.shape[1:])
        soft, _ = to_words(pair.layers[0], pair.target, pair.source, "awi")
        assert sorted((int(s), t) for t, s in enumerate(soft.argmax(1))) == pairs(lines_of(words, "A")[pair.id][0])
    with pytest.raises(NormalignError, match="exists already"):
        generate(binarized, plain_checkpoint, *options)


def test_forced_decoding_of_a_translation_gives_its_alignment(binarized, plain_checkpoint, words, tmp_path):
    """Beam search and forced decoding of the same string agree, also right after one another."""
    pieces = generate(binarized, plain_checkpoint)
    sides = ("".join(" ".join(sentence(lines_of(pieces, kind)[n][0])) + "\n" for n in range(13)) for kind in "SH")
    raw = raw_text(tmp_path, binarized, *sides)
    options = ("--score-reference", "--print-alignment", "hard", "--post-process", "subword_nmt")
    forced = generate(raw, plain_checkpoint, *RAW, *options)
    assert lines_of(forced, "A") == lines_of(words, "A")


def test_after_a_search_with_a_beam_forced_decoding_is_unaffected(binarized, plain_checkpoint):
    import fairseq_normalign

    model = fairseq_normalign.load(plain_checkpoint, data=binarized)
    before = model.align("d1 d0@@ e0 d2", "x2 x0@@ y0 x1", score=True)
    model.translate("d1 d0@@ e0 d2", beam=5, nbest=2)
    after = model.align("d1 d0@@ e0 d2", "x2 x0@@ y0 x1", score=True)
    np.testing.assert_array_equal(before.soft, after.soft)
    assert before.score == after.score


def test_python_interface_returns_words_links_layers_and_score(binarized, plain_checkpoint):
    import fairseq_normalign

    model = fairseq_normalign.load(plain_checkpoint, data=binarized, layer=1)
    pair = model.align("d1 Zwie@@ back d0@@ e0", "x0@@ y0 nowhere x1", score=True, every_layer=True)
    assert pair.source == ("d1", "Zwieback", "d0e0")  # an unknown piece still belongs to its word
    assert pair.target == ("x0y0", "nowhere", "x1")
    assert [(reading.layer, soft.shape) for reading, soft in pair.readings.items()] == [(n, (3, 3)) for n in range(3)]
    assert pair.links == sorted((int(source), target) for target, source in enumerate(pair.soft.argmax(1)))
    assert pair.pharaoh() == " ".join(f"{s}-{t}" for s, t in pair.links)
    assert pair.score < 0
    best, *others = model.translate("d1 d2", beam=3, nbest=2)
    assert len(others) == 1
    assert best.score >= others[0].score
    again = model.align("d1 d2", " ".join(best.target).replace("@@", ""))
    assert best.source == again.source == ("d1", "d2")


def test_unknown_words_are_replaced_through_the_alignment(binarized, plain_checkpoint, tmp_path):
    """An <unk> in the output becomes the source word it is aligned to, pieces joined."""
    raw = raw_text(tmp_path, binarized, "d1 Zwie@@ back d2\n", "x2 nowhere x1\n")
    options = (*RAW, "--score-reference", "--replace-unk", "--post-process", "subword_nmt")
    output = generate(raw, plain_checkpoint, *options, "--print-alignment", "hard")
    source_of = {target: source for source, target in pairs(lines_of(output, "A")[0][0])}
    words = ["d1", "Zwieback", "d2"]
    assert sentence(lines_of(output, "S")[0][0]) == words
    assert sentence(lines_of(output, "H")[0][0])[1] == words[source_of[1]]
    without_printing = generate(raw, plain_checkpoint, *options)
    assert lines_of(without_printing, "H") == lines_of(output, "H")


def test_language_tags_in_front_do_not_shift_the_links(binarized, our_checkpoint, tmp_path):
    raw = raw_text(tmp_path, binarized, "__de__ d1 d2 d4\n", "x4 x2 x1\n")
    entries = (binarized / "dict.de.txt").read_text(encoding="utf-8").splitlines()
    entries[-1] = "__de__ 1"  # takes the place of a word, so that the sizes still fit
    (raw / "dict.de.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
    options = (*RAW, "--score-reference", "--print-alignment")
    rows = lines_of(generate(raw, our_checkpoint, *options, "soft"), "A")[0][0].split()
    assert [len(row.split(",")) for row in rows] == [3, 3, 3]
    assert all(source < 3 for source, _ in pairs(lines_of(generate(raw, our_checkpoint, *options, "hard"), "A")[0][0]))


def test_an_empty_source_line_has_no_links(binarized, plain_checkpoint, tmp_path):
    raw = raw_text(tmp_path, binarized, "d1 d2\n\nd3\n", "x2 x1\nx1\nx3\n")
    output = generate(raw, plain_checkpoint, *RAW, "--print-alignment", "hard")
    assert lines_of(output, "A")[1] == [""]
    assert sorted(lines_of(output, "A")) == [0, 1, 2]


def test_null_policy_and_settings_change_what_is_printed(binarized, plain_checkpoint):
    def links(*options: object) -> list[str]:
        found = lines_of(
            generate(binarized, plain_checkpoint, "--score-reference", "--print-alignment", "hard", *options), "A"
        )
        return [found[number][0] for number in sorted(found)]

    assert links() != links("--normalign-step", "awo")
    assert links() != links("--normalign-method", "weights", "--normalign-layer", 3)
    assert links("--normalign-head", 1) != links("--normalign-head", 2)
    options = ("--normalign-method", "weights", "--normalign-step", "awo", "--normalign-layer", 3)
    kept = [len(line.split()) for line in links(*options, "--normalign-null", "unaligned")]
    best = [len(line.split()) for line in links(*options)]
    assert all(few <= many for few, many in zip(kept, best, strict=True))
    with pytest.raises(NormalignError, match="no head 3"):
        links("--normalign-head", 3)


def test_the_self_check_passes_and_sees_a_model_it_does_not_understand(binarized, plain_checkpoint, monkeypatch):
    options = ("--score-reference", "--print-alignment", "hard", "--normalign-self-test")
    checked = generate(binarized, plain_checkpoint, *options)
    assert lines_of(checked, "A") == lines_of(generate(binarized, plain_checkpoint, *options[:-1]), "A")
    for half in ("--fp16",):
        generate(binarized, plain_checkpoint, *options, half)
    from fairseq.modules import MultiheadAttention

    forward = MultiheadAttention.forward

    def scaled(self, *args, **kwargs):
        output, weights = forward(self, *args, **kwargs)
        return output * 1.01, weights

    monkeypatch.setattr(MultiheadAttention, "forward", scaled)
    with pytest.raises(NormalignError, match="self-check of TransformerModel: in decoder layer 1"):
        generate(binarized, plain_checkpoint, *options)


def test_nan_never_becomes_an_alignment(binarized, plain_checkpoint, tmp_path):
    state = torch.load(plain_checkpoint, weights_only=False)
    state["model"]["decoder.layers.0.encoder_attn.v_proj.weight"][0, 0] = 3e38  # overflows
    torch.save(state, tmp_path / "nan.pt")
    with pytest.raises(NormalignError, match=r"sentence \d+: NaN or infinity in decoder layer 1"):
        generate(binarized, tmp_path / "nan.pt", "--score-reference", "--print-alignment", "hard")


def test_the_hub_interface_prints_alignments(binarized, plain_checkpoint, our_checkpoint, caplog):
    from fairseq.models.transformer import TransformerModel

    from fairseq_normalign.models.transformer_normalign import TransformerNormalignModel

    hub = TransformerNormalignModel.from_pretrained(
        str(our_checkpoint.parent), our_checkpoint.name, data_name_or_path=str(binarized)
    )
    tokens = hub.encode("d1 d0@@ e0 d2")
    best = hub.generate([tokens], beam=3, print_alignment=True, verbose=True)[0][0]
    assert {target for _, target in list(best["alignment"])} <= set(range(len(best["tokens"]) - 1))
    plain = TransformerModel.from_pretrained(
        str(plain_checkpoint.parent),
        plain_checkpoint.name,
        data_name_or_path=str(binarized),
        task={"_name": "translation_normalign"},
    )
    best = plain.generate([plain.encode("d1 d2")], beam=3, print_alignment="hard")[0][0]
    assert {target for _, target in list(best["alignment"])} <= set(range(len(best["tokens"]) - 1))
