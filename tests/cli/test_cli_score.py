import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_normalign.cli import main

ROOT = Path(__file__).parents[2]
GOLD = "1-1 2p2 3-3\n" + "1-1\n" * 11
HYP = "0-0 1-1 2-1\n" + "0-0\n" * 11


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**contents):
        for name, content in contents.items():
            data = content if isinstance(content, bytes) else content.encode("utf-8")
            (tmp_path / name).write_bytes(data)

    write(gold=GOLD, hyp=HYP)
    return write


def score(capsys, *arguments):
    """Exit code, standard output and standard error of ``normalign score``."""
    code = main(["score", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def scores(capsys, *arguments):
    code, out, err = score(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)["systems"]


def refused(capsys, *arguments):
    """The one line that says what is wrong."""
    code, out, err = score(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("normalign score: error: ")
    assert err.count("\n") == 1
    return err.removeprefix("normalign score: error: ").strip()


def test_figures_counts_and_signature(files, capsys):
    (system,) = scores(capsys, "gold", "hyp")
    assert (system["links"], system["sure"], system["possible"]) == (14, 13, 14)
    assert (system["sure_hits"], system["possible_hits"]) == (12, 13)
    assert system["aer"] == pytest.approx(100 * (1 - 25 / 27))
    assert system["signature"].startswith(
        "gold:talp,base:1,source-target|hyp:pharaoh,base:0,source-target|sentences:12|alpha:0.5|normalign:"
    )


def test_the_table_can_be_read(files, capsys):
    _, out, _ = score(capsys, "gold", "hyp")
    head, row, _, gold, signature = out.splitlines()
    assert head.split() == ["AER", "P", "R", "F", "links"]
    assert row.split() == ["hyp", "7.4", "92.9", "92.3", "92.6", "14"]
    assert gold == "gold: 13 sure links, 1 only possible"
    assert signature.startswith("signature: gold:talp,base:1")


def test_other_styles(files, capsys, tmp_path):
    _, out, _ = score(capsys, "gold", "hyp", "--style", "tsv", "--digits", "3")
    head, row = (line.split("\t") for line in out.splitlines())
    assert dict(zip(head, row, strict=True))["aer"] == "7.407"
    files(my_hyp=HYP)
    _, out, _ = score(capsys, "gold", "my_hyp", "--style", "latex")
    assert out.splitlines()[1].startswith(r"my\_hyp & 7.4 & 92.9 & 92.3 & 92.6 \\ % gold:talp")
    assert score(capsys, "gold", "hyp", "-o", "out")[1] == ""
    assert (tmp_path / "out").read_text(encoding="utf-8").startswith(" ")


def test_alpha_weighs_precision(files, capsys):
    (system,) = scores(capsys, "gold", "hyp", "--alpha", "1")
    assert system["f"] == system["precision"]


def test_per_sentence_counts_add_up(files, capsys, tmp_path):
    (system,) = scores(capsys, "gold", "hyp", "--per-sentence", "rows")
    head, *rows = [line.split("\t") for line in (tmp_path / "rows").read_text(encoding="utf-8").splitlines()]
    assert [row[1] for row in rows] == [str(number) for number in range(1, 13)]
    assert sum(int(row[head.index("links")]) for row in rows) == system["links"]
    assert rows[0][head.index("aer")] == "40.0"


def test_bootstrap_and_paired_tests(files, capsys):
    files(other="0-5\n" * 12)
    arguments = ("gold", "hyp", "other", "--bootstrap", "200", "--paired", "--trials", "300")
    first, second = scores(capsys, *arguments)
    low, high = first["intervals"]["aer"]
    assert low <= first["aer"] <= high
    assert "against_first" not in first
    assert second["against_first"]["aer_difference"] == pytest.approx(second["aer"] - first["aer"])
    assert second["against_first"]["p_bootstrap"] == 1 / 201
    assert second["against_first"]["p_randomization"] < 0.05
    assert "|bootstrap:200,trials:300,seed:12345|" in first["signature"]
    assert scores(capsys, *arguments) == [first, second]
    _, table, _ = score(capsys, *arguments)
    assert "95% interval" in table
    assert "p (bootstrap)" in table


def test_sentences_without_gold(files, capsys):
    files(gold=GOLD + "\n", hyp=HYP + "0-0 1-1\n")
    (system,) = scores(capsys, "gold", "hyp")
    assert system["links"] == 16
    assert "|sentences:13|goldless:1,scored|" in system["signature"]
    (system,) = scores(capsys, "gold", "hyp", "--skip-goldless")
    assert system["links"] == 14
    assert "|sentences:12|goldless:1,skipped|" in system["signature"]


def test_hypotheses_without_links(files, capsys):
    files(hyp="\n" * 12)
    (system,) = scores(capsys, "gold", "hyp")
    assert [system[name] for name in ("aer", "precision", "recall", "f")] == [100, 100, 0, 0]
    assert "hyp:pharaoh,base:any" in system["signature"]


# What goes wrong with files


WORDS = "a b c\n" * 12


@pytest.mark.parametrize(
    ("changed", "more", "says"),
    [
        ({"hyp": "0-0\n" * 11}, "", "gold has 12 sentences, hyp has 11"),
        ({"hyp": "0-0\n" * 2000}, "", "gold has 12 sentences, hyp has 2000"),
        ({"hyp": "0-0\n"}, "", "gold has 12 sentences, hyp has 1"),
        ({"source": "a b c\n" * 11}, "--source source", "gold has 12 sentences, source has 11"),
        ({"source": "a b c\n" * 14, "target": WORDS}, "--source source --target target", "source has 14"),
        (
            {"source": WORDS, "target": WORDS, "gold": "1-1\n" * 12, "hyp": "0-0\n" * 4 + "0-3\n" + "0-0\n" * 7},
            "--source source --target target --gold-base 1",
            "hyp:5: link 0-3 is out of range: the sentence has 3 source words and 3 target words",
        ),
        (
            {"hyp": HYP.replace("0-0 1-1", "0-0\u20281-1", 1)},
            "",
            r"hyp:1: '0-0\u20281-1' is neither i-j (sure) nor ipj",
        ),
        ({"hyp": HYP.encode()[:-4] + b"0-0 \xff\n"}, "", "hyp:12: byte 0xff at column 5 is not UTF-8 text"),
        ({"hyp": b"\xff\xfe0\x00-\x000\x00\n\x00\x00"}, "", "hyp: its UTF-16 text is damaged or cut off"),
        ({"source": b"caf\xe9\n" * 12}, "--source source", "source:1: byte 0xe9 at column 4 is not UTF-8 text"),
        ({"hyp": ""}, "", "hyp: the file is empty"),
        ({"gold": ""}, "", "gold: the file is empty"),
        (
            {"hyp": HYP.replace("0-0\n", "0:0\n", 3)},
            "-o out --per-sentence rows",
            "hyp:2: '0:0' is neither i-j (sure) nor",
        ),
        (
            {"hyp": "".join(f"A-{k}\t0-0\n" for k in range(8))},
            "",
            "gold has 12 sentences, hyp has 8; fairseq-generate can",
        ),
    ],
)
def test_files_that_do_not_fit_are_refused(files, capsys, tmp_path, changed, more, says):
    files(**changed)
    before = sorted(path.name for path in tmp_path.iterdir())
    assert says in refused(capsys, "gold", "hyp", *more.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_one_based_read_as_zero_based(files, capsys):
    files(hyp=GOLD)
    (system,) = scores(capsys, "gold", "hyp")
    assert "hyp:talp,base:1" in system["signature"]
    assert system["aer"] == 0
    diagonal = "".join(f"{k}-{k} " for k in range(1, 9)) + "\n"
    files(gold=diagonal * 3, hyp=diagonal * 3)
    assert "gold: does it count words from 0 or 1?" in refused(capsys, "gold", "hyp")
    assert "say --hyp-base 0 or --hyp-base 1" in refused(capsys, "gold", "hyp", "--gold-base", "1")


def test_a_wrong_base_is_noticed_in_the_agreement(files, capsys):
    words = "".join(f"{k}-{9 - k} " for k in range(1, 9)) + "\n"
    files(gold=words * 12, hyp=words * 12)
    code, _, err = score(capsys, "gold", "hyp", "--hyp-base", "0")
    assert code == 0
    assert "warning: hyp: 0 of 96 links are in gold, but 96 with its indices one lower; check --gold-base" in err
    message = refused(capsys, "gold", "hyp", "--gold-base", "0")
    assert message.startswith("hyp: 0 of 96 links are in gold, but 96 with its indices one higher; say how to read it")


def test_reversed_file(files, capsys):
    files(gold="1-1 1-2 2-3 3-3\n" * 12, hyp="0-0 1-0 2-1 2-2\n" * 12)
    message = refused(capsys, "gold", "hyp")
    assert "24 of 48 links are in gold, but 48 with source and target exchanged" in message
    assert "--[no-]reverse-hyp" in message
    (system,) = scores(capsys, "gold", "hyp", "--reverse-hyp")
    assert system["aer"] == 0
    assert "hyp:pharaoh,base:0,target-source" in system["signature"]
    code, _, err = score(capsys, "gold", "hyp", "--no-reverse-hyp")
    assert code == 0
    assert "warning" in err


def test_a_poor_alignment_that_is_better_turned_round_is_scored(files, capsys):
    files(gold="1-1 2-1 3-9 4-9 5-9\n" * 12, hyp="0-1 5-0 6-0 7-0\n" * 12)
    (system,) = scores(capsys, "gold", "hyp")
    assert system["possible_hits"] == 0


def test_reversed_file_shown_by_the_lengths(files, capsys):
    files(gold="1-1 4-2\n", hyp="0-0 1-3\n", source="a b c d\n", target="e f\n")
    (system,) = scores(capsys, "gold", "hyp", "--source", "source", "--target", "target")
    assert system["aer"] == 0
    assert "hyp:pharaoh,base:0,target-source" in system["signature"]


@pytest.mark.parametrize(
    ("gold", "hyp"),
    [
        (b"\xef\xbb\xbf" + GOLD.replace("\n", "\r\n").encode(), HYP.replace("\n", "\r\n")),
        (GOLD.rstrip("\n"), " " + HYP.replace("\n", " \n").replace(" ", "  \t")),
    ],
    ids=["Windows", "spaces"],
)
def test_line_ends_and_spaces(files, capsys, gold, hyp):
    expected = scores(capsys, "gold", "hyp")
    files(gold=gold, hyp=hyp)
    assert scores(capsys, "gold", "hyp") == expected


def test_line_separators_of_unicode_end_no_line(files, capsys):
    files(source="a\u2028b c\x85d e\n" + "x\n" * 11, target="f g h\n" + "y\n" * 11)
    (system,) = scores(capsys, "gold", "hyp", "--source", "source", "--target", "target")
    assert system["links"] == 14


# Files whose sentences have ids


def naacl(sentences):
    return "".join(f"{name} {s} {t} {mark}\n" for name, links in sentences.items() for s, t, mark in links)


def test_naacl_gold_against_lines(files, capsys):
    files(
        gold=naacl({"0001": [(1, 1, "S"), (2, 2, "P")], "0003": [(1, 2, "P"), (0, 1, "S")]}),
        hyp="0-0 1-1\n0-0\n0-1\n",
    )
    (system,) = scores(capsys, "gold", "hyp")
    assert (system["links"], system["sure"], system["possible"], system["possible_hits"]) == (4, 1, 3, 3)
    assert "gold:naacl,base:1" in system["signature"]
    assert "goldless:1" in system["signature"]


def test_naacl_ids_that_are_no_line_numbers_stand_in_order(files, capsys):
    files(gold=naacl({"0018": [(1, 1, "S")], "0042": [(2, 1, "S")]}), hyp="0-0\n1-0\n")
    (system,) = scores(capsys, "gold", "hyp")
    assert system["aer"] == 0
    assert ",ids:in-order" in system["signature"]


def test_naacl_ids_that_fit_no_line_count_are_asked_about(files, capsys):
    files(gold=naacl({"1": [(1, 1, "S")], "2": [(2, 1, "S")]}), hyp="0-0\n1-0\n0-0\n")
    assert refused(capsys, "gold", "hyp").startswith(
        "gold: 2 sentences with ids 1 to 2, but hyp has 3; which are meant?"
    )
    files(source="a b\n" * 3)
    (system,) = scores(capsys, "gold", "hyp", "--source", "source")
    assert "sentences:3|goldless:1" in system["signature"]


def test_naacl_on_both_sides_is_matched_by_id(files, capsys):
    files(gold=naacl({"0005": [(1, 1, "S")], "0007": [(2, 1, "P")]}), hyp="7 2 1\n5 1 1\n6 1 1\n")
    (system,) = scores(capsys, "gold", "hyp")
    assert (system["links"], system["sure_hits"], system["possible_hits"]) == (3, 1, 2)
    files(hyp="8 1 1\n")
    assert refused(capsys, "gold", "hyp") == "hyp: sentence 8 is not in gold, whose ids are 5 to 7"


def test_naacl_hypothesis_against_lines(files, capsys):
    files(hyp=naacl({"1": [(1, 1, "S"), (2, 2, "S"), (3, 2, "S")], "4": [(1, 1, "P")]}))
    (system,) = scores(capsys, "gold", "hyp")
    assert (system["links"], system["possible_hits"]) == (4, 3)
    files(hyp="13 1 1\n")
    assert "ids 13 to 13, but gold has 12" in refused(capsys, "gold", "hyp")


def test_rwth_gold(files, capsys):
    files(gold="SENT: 0\nS 0 0\nP 1 1\nSENT: 1\nS 0 1\n", hyp="0-0 1-1\n0-1\n")
    (system,) = scores(capsys, "gold", "hyp")
    assert system["aer"] == 0
    assert "gold:rwth,base:0" in system["signature"]


def test_fairseq_log(files, capsys):
    log = "".join(f"S-{k}\ta b c\nA-{k}\t0-0\nA-{k}\t5-5\n" for k in reversed(range(1, 12))) + "A-0\t0-0 1-1 2-1\n"
    expected = scores(capsys, "gold", "hyp")[0]
    files(hyp=log)
    (system,) = scores(capsys, "gold", "hyp")
    assert system["aer"] == expected["aer"]
    assert "hyp:fairseq,base:0" in system["signature"]


def test_fairseq_log_that_lost_sentences(files, capsys):
    files(hyp="".join(f"A-{k}\t0-0\n" for k in range(8)))
    (system,) = scores(capsys, "gold", "hyp", "--allow-missing")
    assert system["links"] == 8


def test_standard_input(files, capsys, monkeypatch):
    expected = scores(capsys, "gold", "hyp")[0]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(HYP.encode())))
    assert scores(capsys, "gold", "-")[0]["aer"] == expected["aer"]


def test_naacl_gold_and_a_pipe(files):
    files(gold=naacl({"0001": [(1, 1, "S")], "0002": [(2, 1, "S")]}))
    command = [sys.executable, "-m", "fairseq_normalign.cli", "score", "gold", "-", "--style", "tsv"]
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, input=b"0-0\n1-0\n", capture_output=True, env=environment, check=True)
    assert b"\n<stdin>\t0.0\t" in done.stdout


def test_scoring_loads_neither_torch_nor_fairseq():
    code = (
        "import sys, fairseq_normalign.links.score, fairseq_normalign.links.pieces,"
        " fairseq_normalign.links.words, fairseq_normalign.cli.score, fairseq_normalign.cli.convert,"
        " fairseq_normalign.cli.symmetrize; print([name for name in ('torch', 'fairseq') if name in sys.modules])"
    )
    environment = {"PYTHONPATH": str(ROOT)}
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, text=True).stdout == "[]\n"
    )
