"""Options are declared once: what the command line, Python, the fairseq tasks and the guard of outputs make of them."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
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
    check_options,
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


@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_option_is_one_line(verb, capsys):
    assert main([verb, "--no-such-option"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"normalign {verb}: error: ")
    assert f"'normalign {verb} --help' lists the options" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["report", "dump", "-o", "folder"], "normalign view ... --report FOLDER"),
        (["algin"], "unknown verb 'algin'; did you mean align?"),
        (["align", "--pth", "x"], "unrecognized arguments: --pth; did you mean --path?"),
        (["score", "a", "b", "--boostrap=5"], "unrecognized arguments: --boostrap=5; did you mean --bootstrap?"),
        (["align", "--format", "jsonl"], "JSON lines are now written by --json"),
    ],
)
def test_what_was_meant_is_suggested(arguments, says, capsys):
    assert main(arguments) == 2
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
    given = {"aligner": "fast_align", "source": str(text), "target": str(text), "output": str(tmp_path / "out")}
    with pytest.raises(NormalignError, match="would replace it"):
        check_options(ALL["baseline"](**given), {})
    assert text.read_text() == "a\n"


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    pytest.importorskip("fairseq")
    folder = tmp_path_factory.mktemp("toy") / "toy"
    assert main(["try", "--copy", str(folder)]) == 0
    return folder


@pytest.fixture
def given(toy):
    return ["--path", str(toy / "de-en.pt"), "--bpe-codes", str(toy / "codes"), "--tokenizer", "moses", "--lowercase"]


def test_a_small_text_is_one_calm_line(toy, given, tmp_path, capsys):
    for side in ("de", "en"):
        (tmp_path / side).write_text("".join((toy / f"text.{side}").open(encoding="utf-8").readlines()[:3]))
    text = ["--source", str(tmp_path / "de"), "--target", str(tmp_path / "en")]
    both = ["--reverse-path", str(toy / "en-de.pt"), "-o", str(tmp_path / "links")]
    assert main(["align", *given, *text, *both]) == 0
    said = "normalign align: too few pairs (3) to choose readings; using the default norms:1:awi,norms:3:awo^0.5\n"
    assert capsys.readouterr().err == said
    assert main(["align", *given, *text, *both, "--readings", "default", "--floor", "1"]) == 0
    assert "0 links in 3 pairs: no word pair has an agreement above --floor 1" in capsys.readouterr().err


def test_the_reverse_model_may_have_pieces_of_its_own(toy, given, tmp_path):
    codes = (toy / "codes").read_text(encoding="utf-8").splitlines()
    (tmp_path / "none").write_text(f"{codes[0]}\n{codes[-1]}\n", encoding="utf-8")
    text = ["--source", str(toy / "text.de"), "--target", str(toy / "text.en"), "--reverse-path", str(toy / "en-de.pt")]
    found = []
    for number, own in enumerate(([], [toy / "codes"], [tmp_path / "none"])):
        out = tmp_path / str(number)
        more = ["--reverse-bpe-codes", *map(str, own)] if own else []
        assert main(["align", *given, *text, "--readings", "default", "-o", str(out), *more]) == 0
        found.append(out.read_text())
    assert found[0] == found[1] != found[2]
    pair = ("der Bürger wartet .", "the citizen waits .")
    python = {"bpe_codes": toy / "codes", "lowercase": True, "reverse": toy / "en-de.pt"}
    links = [
        fairseq_normalign.load(toy / "de-en.pt", **python, reverse_bpe_codes=own).align(*pair).confidence
        for own in ((), [toy / "codes"], tmp_path / "none")
    ]
    assert links[0] == links[1] != links[2]


def test_translations_are_natural_text(toy, given, tmp_path, capsys):
    (tmp_path / "s").write_text("Der Bürger wartet.\n", encoding="utf-8")
    command = ["translate", *given, "--source", str(tmp_path / "s"), "--beam", "1"]
    assert [main([*command, *more]) for more in ([], ["--tokens"], ["--json"])] == [0, 0, 0]
    natural, tokens, entry = capsys.readouterr().out.splitlines()
    assert natural.endswith("s.")
    assert tokens == natural.replace(".", " .")
    assert (json.loads(entry)["text"], json.loads(entry)["target"]) == (natural, tokens.split())


def test_a_checkpoint_alone_asks_for_its_data_first(toy, given, tmp_path, capsys):
    shutil.copy(toy / "de-en.pt", tmp_path)
    text = ["--source", str(toy / "text.de"), "--target", str(toy / "text.en")]
    assert main(["align", "--path", str(tmp_path / "de-en.pt"), *text, *given[2:]]) == 2
    assert capsys.readouterr().err.endswith("give the directory that fairseq-preprocess wrote: --data\n")


def test_python_and_the_command_choose_the_same_readings(toy, given, tmp_path):
    text = [(toy / f"text.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en")]
    command = ["align", *given, "--source", str(toy / "text.de"), "--target", str(toy / "text.en")]
    assert main([*command, "-o", str(tmp_path / "links")]) == 0
    model = fairseq_normalign.load(toy / "de-en.pt", bpe_codes=toy / "codes", tokenizer="moses", lowercase=True)
    found = [alignment.pharaoh() for alignment in model.align_many(zip(*text, strict=True))]
    assert found == (tmp_path / "links").read_text().splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_verbs_flags_and_choices(shell, tmp_path, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(f"{verb}) words=" in script for verb in VERBS)
    if shell == "bash":
        ask = "COMP_WORDS=(normalign align --step a); COMP_CWORD=3; _normalign; echo ${COMPREPLY[@]}"
        found = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
        assert found.stdout.split() == ["awo", "awi"]


def test_the_package_is_a_program(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "fairseq_normalign", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("normalign ")


def test_figures_and_page_in_one_run(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    for name, line in (("s", "ein Haus"), ("t", "a house"), ("links", "0-0 1-1")):
        (tmp_path / name).write_text(line + "\n")
    files = [f"--{flag}={tmp_path / name}" for flag, name in (("source", "s"), ("target", "t"), ("links", "links"))]
    assert main(["view", *files, "-o", str(tmp_path / "x.svg"), "--html", str(tmp_path / "y.html")]) == 0
    assert (tmp_path / "x.svg").stat().st_size > 1000
    assert (tmp_path / "y.html").stat().st_size > 1000
