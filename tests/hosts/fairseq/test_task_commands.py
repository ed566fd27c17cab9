"""fairseq's commands with our tasks: training, fairseq-interactive, and mistakes that end in one line."""

from __future__ import annotations

import copy
import re
import shutil
from dataclasses import replace

import pytest
import torch

from fairseq_normalign.errors import NormalignError
from tests.conftest import PACKAGE, lines_of, run, succeed
from tests.hosts.fairseq.published_shapes import REPAIRED, generate, train

ALIGN = ("--print-alignment", "hard", "--normalign-layer", "1", "--normalign-step", "awi")


def ours(shape, *options: object) -> str:
    return generate(shape, f"{shape.task}_normalign", *ALIGN, *options)


@pytest.mark.parametrize(
    "name",
    [
        "M2M-100",
        pytest.param("multilingual_translation", marks=pytest.mark.slow),
        pytest.param("mBART-cc25", marks=pytest.mark.slow),
    ],
)
def test_interactive_prints_the_alignments_of_generate(shape_of, name):
    shape = shape_of(name)
    generated = ours(shape, "--post-process", "sentencepiece", "--batch-size", 1)
    languages = ("--task", f"{shape.task}_normalign", "-s", shape.source, "-t", shape.target, *shape.flags)
    command = (
        "fairseq-interactive",
        shape.data,
        "--user-dir",
        PACKAGE,
        "--path",
        shape.checkpoint,
        "--cpu",
        *languages,
    )
    search = ("--beam", 3, "--max-len-b", 15, "--buffer-size", 20, "--post-process", "sentencepiece", *ALIGN)
    text = (shape.data.parent / f"test.{shape.source}").read_text(encoding="utf-8")
    printed = succeed(*command, *search, stdin=text).stdout
    for kind in ("S", "A"):
        assert lines_of(printed, kind) == lines_of(generated, kind)
    assert len(lines_of(printed, "A")) == 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["M2M-100", "multilingual_translation", "mBART-cc25"])
def test_our_task_trains_a_model_that_the_stock_task_runs(shape_of, name, tmp_path):
    shape = shape_of(name)
    state = torch.load(shape.checkpoint, weights_only=False)
    saved = state["cfg"]["model"]
    arch = ["--arch", saved.arch]
    arch += [f"--{flag.replace('_', '-')}" for flag in SHARED if getattr(saved, flag, False)]
    way = ["-s", shape.source, "-t", shape.target] if name == "mBART-cc25" else []
    sampling = [] if "multi_simple" not in shape.task else ["--sampling-method", "temperature"]
    sampling += ["--sampling-temperature", "1.5"] if sampling else []
    again = train(shape.data, tmp_path, "--task", f"{shape.task}_normalign", *arch, *way, *sampling, *shape.flags)
    trained = torch.load(again, weights_only=False)["model"]
    assert {key: one.shape for key, one in trained.items()} == {key: one.shape for key, one in state["model"].items()}
    mine = replace(shape, checkpoint=again)
    found, stock = ours(mine), generate(mine, REPAIRED if name == "mBART-cc25" else shape.task)
    assert len(lines_of(found, "H")) == 20
    for number, line in lines_of(stock, "H").items():
        assert lines_of(found, "H")[number] == line


SHARED = ("share_all_embeddings", "share_encoders", "share_decoders", "share_decoder_input_output_embed")


@pytest.mark.parametrize("form", ["hard", "soft"])
def test_tags_are_never_among_the_words_of_pieces(shape_of, form):
    shape = shape_of("M2M-100")
    output = generate(shape, f"{shape.task}_normalign", *ALIGN, "--print-alignment", form, "--score-reference")
    for number, (line,) in lines_of(output, "A").items():
        pieces = lines_of(output, "H")[number][0].split("\t")[1].split()
        assert "__en__" not in pieces
        source = [piece for piece in lines_of(output, "S")[number][0].split() if piece != "__de__"]
        if form == "hard":
            assert {int(pair.split("-")[1]) for pair in line.split()} == set(range(len(pieces)))
        else:
            assert [len(row.split(",")) for row in line.split()] == [len(source)] * len(pieces)


def test_a_model_with_tags_is_never_run_without(shape_of):
    shape = shape_of("M2M-100")
    with pytest.raises(NormalignError, match=r"trained with the task 'translation_multi_simple_epoch'.*use --task"):
        generate(replace(shape, flags=()), "translation_normalign", *ALIGN)
    without = [flag for flag in shape.flags if flag != "--decoder-langtok"]
    with pytest.raises(NormalignError, match=r"trained with --decoder-langtok True, which is off here"):
        ours(replace(shape, flags=without))
    multilingual = shape_of("multilingual_translation")
    changed = ["src" if flag == "tgt" else flag for flag in multilingual.flags]
    with pytest.raises(NormalignError, match="--encoder-langtok tgt"):
        ours(replace(multilingual, flags=changed))


def test_a_dictionary_of_another_model_says_which_and_by_how_much(shape_of, tmp_path):
    shape = shape_of("bilingual")
    data = tmp_path / "bin"
    shutil.copytree(shape.data, data)
    with open(data / "dict.en.txt", "a", encoding="utf-8") as handle:
        handle.write("more 1\nwords 1\n")
    with pytest.raises(NormalignError, match=r"decoder has \d+ embeddings, the target dictionary .* entries, 2 more"):
        ours(replace(shape, data=data))


@pytest.mark.parametrize("name", ["bilingual", "M2M-100", "multilingual_translation"])
def test_a_sentence_that_is_too_long_is_named(shape_of, name):
    shape = shape_of(name)
    limits = ("--max-source-positions", 5, "--max-target-positions", 5)
    with pytest.raises(NormalignError, match=r"^sentence \d+ has \d+ and \d+ pieces") as caught:
        ours(shape, *limits)
    source = (shape.data.parent / f"test.{shape.source}").read_text(encoding="utf-8").split("\n")
    number, pieces = map(int, re.findall(r"\d+", str(caught.value))[:2])
    tags = 2 if name == "M2M-100" else 1
    assert pieces == len(source[number - 1].split()) + tags
    kept = lines_of(ours(shape, *limits, "--skip-invalid-size-inputs-valid-test"), "A")
    assert 0 < len(kept) < 20


def test_other_tasks_say_whose_alignments_they_print(shape_of, capsys):
    shape = shape_of("M2M-100")
    generate(shape, shape.task, "--print-alignment", "hard")
    said = capsys.readouterr().err.strip().split("\n")[-1]
    assert said.startswith("fairseq_normalign: these alignments are fairseq's own")
    assert said.endswith("use --task translation_multi_simple_epoch_normalign")
    ours(shape)
    assert "fairseq's own" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("-s", "de"), "source and target language are needed"),
        (("-s", "de", "-t", "en"), "give --lang-dict, --langs or --lang-pairs"),
        (
            ("-s", "de", "-t", "xx", "--lang-pairs", "de-en"),
            "contains languages that are not in the language dictionary",
        ),
    ],
)
def test_languages_that_are_missing_are_one_line(shape_of, flags, message):
    shape = shape_of("M2M-100")
    command = ("fairseq-generate", shape.data, "--user-dir", PACKAGE, "--path", shape.checkpoint, "--cpu", *ALIGN)
    result = run(*command, "--task", f"{shape.task}_normalign", *flags)
    assert result.returncode == 2
    errors = [line for line in result.stderr.split("\n") if line.startswith("fairseq_normalign: error:")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in result.stderr


def test_old_checkpoints_keep_all_arguments_in_one_namespace(shape_of, tmp_path):
    """As M2M-100 and mBART were published: ``args`` instead of ``cfg``."""
    import fairseq_normalign

    for name in ("M2M-100", "mBART-cc25", "multilingual_translation"):
        shape = shape_of(name)
        state = torch.load(shape.checkpoint, weights_only=False)
        args = copy.copy(state["cfg"]["task"])
        args.criterion = "of_somebody_else"
        torch.save({**state, "args": args, "cfg": None}, tmp_path / "old.pt")
        way = {"data": shape.data, "source_lang": shape.source, "target_lang": shape.target}
        pair = [
            (shape.data.parent / f"test.{language}").read_text(encoding="utf-8").split("\n")[0]
            for language in (shape.source, shape.target)
        ]
        old, new = (
            fairseq_normalign.load(path, **way).align(*pair) for path in (tmp_path / "old.pt", shape.checkpoint)
        )
        assert old.pharaoh() == new.pharaoh()
