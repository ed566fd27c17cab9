"""What a user may get wrong on the command line: one line on standard error, exit code 2, and nothing written."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cli.conftest import mistake

FILES = {
    "s": "Wir <b>sehen</b> das Haus .\nJa .\n",
    "t": "We see the house .\nYes .\n",
    "l": "0-0 1-1 2-2 3-3 4-4\n0-0 1-1\n",
    "short": "0-0\n",
    "yes": "Yes .\nYes .\n",
    "word": "Anna\n",
    "bad": "w1 ||| w2\nw1 w2\n",
    "deep": "a\n" + "<b>w " * 251 + "</b>" * 251 + "\n",
    "both": "w1\tw2\n",
}
ROWS = """
align --path m                                        | the text is needed: --source FILE and --target FILE, or --bitext
align --path m --source s                             | the text is needed
align --path m --bitext both --source s               | --bitext and --source exclude each other; give one of them
align --path m --source none --target t               | none: no such file or directory
align --path m --source - --target -                  | standard input ('-') can be read only once
align MODEL --symmetrize union                        | --symmetrize and --reverse-path belong together; give both
align MODEL REVERSE --soft x                          | --soft and --reverse-path exclude each other
align MODEL REVERSE --symmetrize agreed-union --decide argmax | both decide links; give one of them
align MODEL REVERSE --symmetrize union --vote l       | which --symmetrize union does not look at
align MODEL --vote l l                                | two files to --vote are for two directions
align MODEL REVERSE --vote l l l                      | 3 were given
align MODEL --learn-from s t                          | --learn-from and --learn belong together; give both
align --path m --source - --target t --learn          | --learn reads the text twice, which '-' does not allow
align --path m --bitext both --level piece --json     | leave --level piece out
align --path m --bitext both --decide top-k:0         | decision 'top-k:0'
align --path m --bitext both --words bert             | invalid choice: 'bert'
align --path MODEL_PATH --bitext both --words unicode | give BPE codes or a SentencePiece model
align --path MODEL_PATH --bitext bad                  | bad:2: 'w1 w2' is not source and target with one
align MODEL --layer 9                                 | no decoder layer 9
align MODEL --layer 0                                 | argument --layer: '0' is not a whole number from 1 on
align MODEL --floor 1.5                               | argument --floor: '1.5' is not a number from 0 to 1
align MODEL --method magic                            | no method 'magic'
align MODEL --readings x                              | x
align MODEL --processes 2 --cluster x                 | --cluster and --processes exclude each other
align MODEL --processes 0                             | argument --processes: '0' is not a whole number from 1 on
align MODEL --threads 9999                            | not a whole number from 1 to 1024
align --path MODEL_PATH --source t --target t --device cuda:99 | the device 'cuda:99' cannot be used
align --path MODEL_PATH --source t --target t --device gpu | the device 'gpu' cannot be used
align MODEL --bpe-codes l l l                         | BPE codes: one file for both sides
align MODEL --scores -                                | --scores: only --output can go to standard output
align MODEL -o /nowhere/out                           | there is no directory /nowhere
align MODEL -o out --scores out                       | two outputs to the same file
align MODEL --dump folder                             | exists already
check MODEL --keep 50%                                | --keep and --keep-to belong together
check MODEL --keep 0% --keep-to x                     | neither a score nor a percentage above 0% and up to 100%
check MODEL --keep nan --keep-to x                    | neither a score nor a percentage
check --path m --source - --target t --keep 1 --keep-to x | --keep reads the text twice
check MODEL -o /nowhere/out                           | there is no directory
check --path m                                        | the text is needed
translate --path m --markup --json                    | --markup and --json exclude each other
translate --path m --page s --source t                | --page and --source exclude each other
translate --path m --source s --write-links -         | only --output can go to standard output
translate --path m --source s --readings auto         | readings are chosen by a bitext
translate --path m --source s --beam 0                | argument --beam: '0' is not a whole number from 1 on
layers --path m                                       | the text is needed
layers MODEL --save-reverse x                         | --save-reverse and --reverse-path belong together
layers MODEL --figure x.gif                           | a figure's name ends in .png, .svg, .pdf
compare MODEL --gold l --add x=l --factors            | --factors and --add exclude each other
compare MODEL --gold l --factors --style latex        | --style latex is for the table without --factors
compare MODEL --gold l --add x                        | x: no such file
compare MODEL --gold l --add s                        | write it as NAME=FILE
compare MODEL --gold l --symmetrize magic             | unknown symmetrization 'magic'
compare MODEL --gold l --methods magic                | no method 'magic'
compare MODEL --gold l --methods ,                    | names no method
compare MODEL --gold l --reverse-path a b             | --path has 1 models, --reverse-path 2
compare MODEL --gold l --digits 99                    | not a whole number from 0 to 17
compare --path m --gold l                             | the text is needed
analyze relation MODEL --category x                   | NAME=REGEX
analyze relation MODEL --category x=(                 | no regular expression
analyze relation MODEL --gold l                       | belong to 'heads'
analyze frequency MODEL --counts none                 | none: no such file
analyze mixing MODEL --mask 0.1                       | masked language models
analyze mixing MODEL --mask 2                         | argument --mask: '2' is not a number from 0 to 0.99
analyze heads MODEL --attention encoder --gold l      | --attention cross
analyze heads --path MODEL_PATH --source s            | give its --target too
analyze heads --path m                                | needs a text
project --markup --source s --target t                | one file of alignments is needed: --links FILE
project --markup --target t --links l                 | the lines with markup are needed
project --strip                                       | the lines with markup are needed
project --markup --source s --links l                 | the translations are needed
project --markup --source s --target t --links l --gaps split | a tag cannot be split
project --markup --bitext s --links l                 | s:1:
project --markup --source s --target yes --links l    | out of range
project --markup --source t --target t --links short -o out | short
project --markup --source s --target t --links l --link-scores l | l:1:
project --markup --source s --target t --links l --path m | --path and --links exclude each other
project --markup --source s --target t --links l --word-column 0 | '0' is not a whole number from 1 on
project --labels word --target t --links l            | word:1: 1 columns
project --markup --source - --target - --links l      | standard input ('-') can be read only once
project --markup --source s --target t --links l -o s | would replace it
project --markup --source deep --target t --links l   | deep:2: tags are nested more than 250 deep
project --strip --source deep -o out                  | deep:2: tags are nested more than 250 deep
project --evaluate l --links l                        | --evaluate and --source belong together
lexicon --source s --links l                          | the text is needed
lexicon --source s --target t --links l --top 0       | argument --top: '0' is not a whole number from 1 on
lexicon --source s --target t --links l --min-probability 2 | '2' is not a number from 0 to 1
lexicon --source s --target t --links l --min-association nan | 'nan' is not a number
score l l --paired                                    | --paired compares two hypothesis files or more; there is one
score - -                                             | standard input ('-') can be read only once
score l l --nth 0                                     | '0' is not a whole number from 1 on
score l l --alpha 1.5                                 | '1.5' is not a number from 0 to 1
score l l --bootstrap x                               | 'x' is not a whole number from 1 on
score l l -o l                                        | would replace it
score l none                                          | none: no such file or directory
symmetrize - -                                        | standard input ('-') can be read only once
symmetrize l none                                     | none: no such file or directory
convert l --to jsonl                                  | jsonl holds the texts
convert l --to jsonl --source s --target t --reverse-output | jsonl has the source first
convert l --to talp --from-base 2                     | '2' is not one of 0, 1
baseline fast_align --source s --target t -o -        | cannot be standard output
baseline fast_align --source s --target t -o no/out   | there is no directory
view                                                  | nothing to show
view --source s                                       | the text is needed
view --source s --target t                            | no alignment to show
view --source s --target t --reverse-path m           | only a model (--path) takes this: --reverse-path
view --source s --target t --links l --links l        | two files are called 'l'
view --source s --target t --links l --threshold 2    | '2' is not a number from 0 to 1
view --source s --target t --links l --head 0         | '0' is not a whole number from 1 on
view --source s --target t --links l --sentences 0    | '0' is neither a number from 1 on nor a range
view --source s --target t --links l -o f.gif         | a figure's name ends in .png, .svg, .pdf
view --source s --target t --links l -o no/f.png      | there is no directory
view --source s --target t --links l --report r       | a report needs gold
view --source s --target t --links l --gold l --report folder | exists already
view --source s --target t --links l --gold l --report r | needs soft
view --source s --target t --links l --worst 1        | --worst and --checked belong together
view --source s --target t --gold s                   | no known format
view --path m --soft-file l                           | --path and --soft-file exclude each other
view --path m                                         | a checkpoint needs sentences
view --path m --source-text a                         | --source-text and --target-text belong together
view --source-text a --target-text b                  | --source-text and --path belong together
view --path m --source - --target t                   | a model reads the text twice
try a                                                 | give both sentences, the source first, or none
try --copy folder                                     | not empty
try --html no/x                                       | there is no directory
"""


@pytest.mark.parametrize("row", ROWS.strip().splitlines(), ids=lambda row: row.partition(" | ")[0].strip())
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, monkeypatch, capsys, request, row):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    line, message = (part.strip() for part in row.split(" | "))
    arguments = []
    for word in line.split():
        if word in ("MODEL", "REVERSE", "MODEL_PATH"):
            tiny = request.getfixturevalue("tiny_pair")
            path = [str(tiny.path()), "--data", str(tiny.folder)]
            arguments += {"MODEL": tiny.arguments, "REVERSE": tiny.reverse, "MODEL_PATH": lambda path=path: path}[
                word
            ]()
        else:
            arguments.append(word)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    capsys.readouterr()  # what fairseq says when it is imported to make the models
    assert message in mistake(capsys, *arguments)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(
    ("more", "place"),
    [([], "standard output"), (["-o", "/dev/stdout"], "standard output"), (["-o", "/dev/full"], "/dev/full")],
)
def test_a_full_disk_is_one_line_that_names_the_place(tmp_path, more, place):
    """What is still in memory is written when the file is closed: the error of that is the one that is reported."""
    (tmp_path / "l").write_text("0-0\n" * 5)
    command = [sys.executable, "-m", "fairseq_normalign", "convert", "l", "--to", "talp", *more]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (2, f"normalign convert: error: {place}: no space left on device\n")
