"""Options are declared once: what the command line, Python, the fairseq tasks and the guard of outputs make of them."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

import fairseq_normalign
from fairseq_normalign.align.options import AlignmentOptions, LoadOptions
from fairseq_normalign.cli import VERBS, main, verb_module, verb_parser
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.options import (
    MODEL,
    READS,
    TEXT,
    WRITES,
    check_files,
    declared,
    input_files,
    output_files,
    result_options,
)
from tests.test_rooms import modules_after

ALL = {verb: verb_module(verb).Options for verb in VERBS}


def flags_of(verb: str) -> dict[str, tuple[str, object]]:
    parser = verb_parser(verb)
    return {flag: (action.dest, action.help) for action in parser._actions for flag in action.option_strings}


def test_load_takes_what_align_takes_about_models_text_and_readings():
    keywords = inspect.signature(fairseq_normalign.load).parameters
    assert list(keywords)[:2] == ["path", "reverse"]
    assert set(keywords) == {field.name for field in fields(LoadOptions)}
    flags = {dest for dest, _ in flags_of("align").values()}
    assert set(keywords) <= flags
    for field in fields(LoadOptions):
        assert keywords[field.name].default in (field.default, inspect.Parameter.empty)
        assert f"{field.name}: " in fairseq_normalign.load.__doc__


def test_a_wrong_keyword_is_named():
    with pytest.raises(TypeError, match="wrods"):
        fairseq_normalign.load("model.pt", wrods="spaces")
    with pytest.raises(NormalignError, match="unknown words 'bert'; choose one of spaces"):
        fairseq_normalign.load("model.pt", words="bert")


def test_the_tasks_of_fairseq_have_the_same_options():
    from fairseq_normalign.tasks.with_alignments import AlignmentFields

    known = {field.name: field for field in fields(AlignmentFields)}
    for field in fields(AlignmentOptions):
        task = known[f"normalign_{field.name}"]
        assert (task.default, task.metadata["help"]) == (field.default, field.metadata["help"])


@pytest.mark.parametrize("role", [READS, WRITES])
def test_a_flag_names_an_input_in_every_verb_or_an_output_in_every_verb(role):
    roles: dict[str, set[bool]] = {}
    for options in ALL.values():
        for field in declared(options):
            for flag in field.metadata["flags"] or [f"--{field.name.replace('_', '-')}"]:
                if field.metadata["role"] in (READS, TEXT, MODEL, WRITES) and not field.metadata["positional"]:
                    roles.setdefault(flag, set()).add(field.metadata["role"] == role)
    mixed = {flag for flag, found in roles.items() if role == WRITES and len(found) > 1}
    assert not mixed


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_called_a_file_is_one(verb):
    for field in declared(ALL[verb]):
        about = field.metadata
        if about["parse"] is None and any(
            word in str(about["metavar"]) for word in ("FILE", "MODEL", "PREFIX", "PAGE")
        ):
            assert about["role"] in (READS, TEXT, MODEL, WRITES), field.name


def test_help_loads_no_torch():
    code = "from fairseq_normalign.cli import VERBS, verb_parser; [verb_parser(v).format_help() for v in VERBS]"
    assert not {"torch", "fairseq", "matplotlib"} & modules_after(code)


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_short_and_help_all_has_everything(verb, capsys):
    for flag in ("--help", "--help-all"):
        with pytest.raises(SystemExit) as ended:
            main([verb, flag])
        assert ended.value.code == 0
    short, long = capsys.readouterr().out.split("usage: ")[1:]
    assert ALL[verb].EXAMPLE in short
    assert short.count("\n  -") <= 13
    assert all(flag in long for flag in flags_of(verb))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["algin"], "unknown verb 'algin'; did you mean 'align'?"),
        (["align", "--pth", "x"], "unrecognized arguments: --pth; did you mean --path?"),
        (["score", "a", "b", "--boostrap=5"], "unrecognized arguments: --boostrap=5; did you mean --bootstrap?"),
        (["align", "--format", "jsonl"], "JSON lines are now written by --json"),
    ],
)
def test_what_was_meant_is_suggested(arguments, says, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_what_a_job_depends_on(tmp_path):
    align = ALL["align"]
    given = {"path": "a.pt:b.pt", "source": "s", "target": "t", "bpe_codes": ["c"], "scores": "x", "threads": 2}
    one = align(**given)
    assert input_files(one) == ["a.pt:b.pt", "a.pt", "b.pt", "c"]
    assert output_files(one) == ["-", "x"]
    found = result_options(one)
    assert found["scores"] is True
    assert found["soft"] is False
    assert not {"threads", "source", "progress"} & set(found)
    assert result_options(align(**{**given, "threads": 4, "scores": "y"})) == found
    assert result_options(align(**given, floor=0.3)) != found


@pytest.mark.parametrize("ending", ["forward", "grow-diag", "json"])
def test_no_output_replaces_an_input(tmp_path, ending):
    """The prefix of the baseline stands for several files."""
    text = tmp_path / f"out.{ending}"
    text.write_text("a\n")
    with pytest.raises(NormalignError, match="would replace it"):
        check_files(ALL["baseline"](aligner="fast_align", source=str(text), target="t", output=str(tmp_path / "out")))
    assert text.read_text() == "a\n"
