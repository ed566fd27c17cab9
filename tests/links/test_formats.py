import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.formats import WRITERS, AlignedPair, Writer, from_json, in_step, open_alignment, to_json
from fairseq_normalign.links.gold import Gold, read_gold, read_links

LINK = st.tuples(st.integers(0, 130), st.integers(0, 130), st.booleans())
SENTENCES = st.lists(st.lists(LINK, max_size=6), min_size=1, max_size=8)


def distinct(sentence):
    """The sorted links of a sentence, sure where any of its copies is."""
    sentence = list(sentence)
    sure = {(s, t) for s, t, mark in sentence if mark}
    return sorted((s, t, (s, t) in sure) for s, t in {(s, t) for s, t, _ in sentence})


def written(format, sentences, **options):
    handle = io.StringIO()
    writer = Writer(handle, format, **options)
    for sentence in sentences:
        writer.write(distinct(sentence))
    return handle.getvalue()


def read_back(path, sentences=None, **options):
    with open_alignment(path, **options) as file:
        return [links for (block,) in in_step([file], size=3) for links in block.sentences()]


@given(sentences=SENTENCES, base=st.integers(0, 1), ends=st.sampled_from(["\n", "\r\n"]), data=st.data())
@pytest.mark.parametrize("format", list(WRITERS))
def test_round_trip(tmp_path_factory, format, sentences, base, ends, data):
    if format in ("pharaoh", "fairseq"):
        sentences = [[(s, t, True) for s, t, _ in links] for links in sentences]
    if format == "naacl":  # cannot say that the last sentence has no links
        sentences = [*sentences, [(0, 0, True)]]
    text = written(format, sentences, base=base).replace("\n", ends)
    path = tmp_path_factory.mktemp("round") / "file"
    path.write_bytes(data.draw(st.sampled_from(["", "\ufeff"])).encode() + text.encode())
    assert read_back(path, format=format, base=base) == [distinct(links) for links in sentences]
    if any(sentences):
        assert read_back(path, base=base) == [distinct(links) for links in sentences]


PIECES = st.sampled_from(
    ["0-0", "12p7", "3-140", " ", "  ", "\t", "\n", "\r\n", "1-", "-1", "x", "p", "7", "é", "1-2-3", "9p1234567890"]
)


@given(st.lists(PIECES, max_size=12).filter("".join))
def test_talp_against_an_obvious_reader(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("talp") / "file"
    path.write_bytes("".join(pieces).encode())
    lines = [re.split("[ \t]+", line.strip(" \t")) for line in re.split("\r?\n", "".join(pieces))]
    matches = [[re.fullmatch("([0-9]{1,6})([-p])([0-9]{1,6})", word) for word in line if word] for line in lines]
    if not all(map(all, matches)):
        with pytest.raises(NormalignError, match=r"file:\d+: "):
            read_back(path, format="talp", base=0)
        return
    expected = [distinct((int(m[1]), int(m[3]), m[2] == "-") for m in line) for line in matches]
    assert read_back(path, format="talp", base=0) == (expected[:-1] if "".join(pieces).endswith("\n") else expected)


def gold_of(text, tmp_path, **options):
    return read_gold(put(tmp_path, "gold", text), **options)


def put(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_naacl_in_the_wild(tmp_path):
    text = "0003 2 1 S\n0001 1 1 S 0.9\n1 1 1 P\n0001 2 2 P 1\n1 0 3 S\n0001 4 0 P\n0003 3 3\n0003 4 4 0.5\n"
    first = Gold({(0, 0)}, {(1, 1)})  # sure wins; links to NULL are none
    assert first.possible == {(0, 0), (1, 1)}
    assert gold_of(text, tmp_path) == [first, Gold((), ()), Gold({(1, 0), (2, 2), (3, 3)}, ())]


def test_naacl_counted_from_zero_is_asked_for(tmp_path):
    with pytest.raises(NormalignError, match=r"gold:1: a link 0 0.*base=0 or base=1"):
        gold_of("1 0 0 S\n", tmp_path)
    assert gold_of("1 0 0 S\n", tmp_path, base=0)[0].sure == {(0, 0)}


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("naacl", "1 1 S\n", "gold:1: '1 1 S' is not 'id source target'"),
        ("naacl", "1 1 1 S\n1 1 1 X\n", "gold:2: '1 1 1 X' is not 'id source target'"),
        ("naacl", "1 -1 1 S\n", "gold:1: '1 -1 1 S' is not"),
        ("rwth", "SENT: 1\nS 1\n", "gold:2: 'S 1' is neither 'SENT: id' nor 'S i j' nor 'P i j'"),
        ("rwth", "S 1 1\n", "gold:1: a link before the first 'SENT: id'"),
        ("rwth", "SENT: 1\nSENT: 1\n", "gold:2: sentence 1 is there twice"),
        ("talp", "0-0\n3x4\n", "gold:2: '3x4' is neither i-j (sure) nor ipj (possible)"),
        ("pharaoh", "0-0\n3p4\n", "gold:2: '3p4' is talp's; Pharaoh has only i-j"),
        ("talp", "0-0 12345678-1\n", "gold:1: index 12345678 is past any sentence"),
        ("fairseq", "S-0\ta\n", "no A- lines"),
        ("fairseq", "A-0\t0.5,0.5 1.0\n", "gold:1: a soft alignment is read beside its S- and H- lines"),
        ("fairseq", "INFO\nA-0\t0-0\nA-1\t0:0\n", "gold:3: '0:0' is neither"),
        ("naacl", "900000000 1 1 S\n", "gold: 1 sentences, but ids up to 900000000; are they line numbers?"),
        ("fairseq", "A-900000000\t0-0\n", "gold: 1 sentences, but ids up to 900000000; are they line numbers?"),
        ("auto", "the cat\n", "no known format (it begins 'the cat')"),
        ("auto", "", "the file is empty"),
        ("ids", "0-0\n", "gold:1: '0-0' is not an id, a tab and links"),
        ("ids", "1\t0-0\n1\t1-1\n", "gold:2: sentence 1 is there twice"),
        ("ids", "1\t0x0\n", "gold:1: '0x0' is neither i-j (sure) nor ipj (possible)"),
        ("tsinghua", "1:1/1 1:2/2\n", "gold:1: '1:2/2' is neither i:j/1 (sure) nor i:j/0 (possible)"),
        ("talp", "0-0 1?2-P\n", "gold:1: '1?2-P' is neither"),
        ("talp", "0-0 ||| x\n", "gold:1: '|||' is neither"),
        ("giza", "x\n", "gold:1: 'x' is not '# Sentence pair (number)'"),
        ("giza", "# Sentence pair (1)\nb\na ({ 1 })\n", "gold:3: 'a ({ 1 })' is not 'NULL ({ }) word ({ 1 }) ...'"),
        ("giza", "# Sentence pair (1)\nb\n", "gold:1: '' is not 'NULL"),
        ("czenali", "<s><sure>1-1\n2-2</sure></s>\n", "gold:1: <sure> or <possible> does not end on the line"),
        ("czenali", "<sure>1-1</sure>\n", "gold:1: <sure> before the first <s>"),
        ("czenali", "<x/>\n", "gold: there is no <s>"),
        ("fairseq", "S-0\ta b\nH-0\t-1\tx\nA-0\t0.5,x\n", "gold:3: '0.5,x' is not a soft alignment"),
        ("fairseq", "S-0\ta b\nH-0\t-1\tx\nA-0\t0.5,0,0,1\n", "gold:3: a soft alignment of 1 target by 4 source words"),
        ("gizza", "0-0\n", "choose one of auto, pharaoh, talp, ids, tsinghua, naacl, rwth, giza, czenali, fairseq"),
    ],
)
def test_errors_name_their_place(tmp_path, format, text, message):
    with pytest.raises(NormalignError) as error:
        gold_of(text, tmp_path, format=format)
    assert message in str(error.value)


FOREIGN = {
    "ids and links (SimAlign)": ("3\t0-1 1p0\n1\t0-0\n", {}, [[(0, 0, True)], [], [(0, 1, True), (1, 0, False)]]),
    "i?j (clab)": ("0-0 1?2\n", {}, [[(0, 0, True), (1, 2, False)]]),
    "i-j-P (Berkeley Aligner)": ("0-0 1-2-P 3-1-S\n", {}, [[(0, 0, True), (1, 2, False), (3, 1, True)]]),
    "i-jP": ("0-0 1-2P 3-3S\n", {}, [[(0, 0, True), (1, 2, False), (3, 3, True)]]),
    "i:j/1 (TsinghuaAligner)": ("1:1/1 2:3/0 3:2\n", {}, [[(0, 0, True), (1, 2, False), (2, 1, True)]]),
    "i:j (TsinghuaAligner)": ("2:3 1:1\n", {}, [[(0, 0, True), (1, 2, True)]]),
    "i-j:score and NULL (machine.py)": ("NULL-1 0-0:0.5 2-2:1e-3:0.25 3-NULL\n", {}, [[(0, 0, True), (2, 2, True)]]),
    "fast_align -s": ("0-0 1-1 ||| -12.5\n ||| -3\n", {}, [[(0, 0, True), (1, 1, True)], []]),
    "NAACL, small p": ("1 1 1 s\n1 2 1 p 0.5\n", {}, [[(0, 0, True), (1, 0, False)]]),
    "CzEnAli": (
        '<?xml version="1.0" encoding="utf-8"?>\n<sentences>\n<s id="a-1">\n  <english>a b</english>\n'
        "  <czech>c</czech>\n  <sure>1-1</sure>\n  <possible>2-1</possible>\n  <phrasal></phrasal>\n</s>\n"
        '<s id="a-2"><sure></sure><possible></possible></s>\n</sentences>\n',
        {},
        [[(0, 0, True), (1, 0, False)], []],
    ),
    "GIZA++": (
        "# Sentence pair (2) source length 1 target length 1 alignment score : 0.1\nyes\nNULL ({ 1 }) ja ({ }) \n"
        "# Sentence pair (1) source length 4 target length 5 alignment score : 1e-5\na b c d e\n"
        "NULL ({ 3 }) das ({ 1 2 }) ({ ({ }) ende ({ 5 }) x ({ }) \n",
        {},
        [[(0, 0, True), (0, 1, True), (2, 4, True)], []],
    ),
    "GIZA++ as the Berkeley Aligner writes it": (
        "# sentence pair (0) source length 2 target length 2 alignment score : 0\nx y\n"
        "NULL ({  }) a ({ 2 }) b ({ 1 })\n",
        {},
        [[(0, 1, True), (1, 0, True)]],
    ),
    "fairseq, soft": (  # a row and a column more, of the ends of the sentences
        "S-0\ta b\nH-0\t-0.1\tx y\nA-0\t0.100000,0.200000,0.700000 0.5,0.1,0.4 0.1,0.1,0.8\n",
        {},
        [[(0, 1, True), (1, 0, True)]],
    ),
    "fairseq, soft, without the ends": ("S-0\ta b\nH-0\t-0.1\tx\nA-0\t0.1,0.9\n", {}, [[(1, 0, True)]]),
    "UTF-16": ("0-0 1-1\n\n2-2\n".encode("utf-16"), {}, [[(0, 0, True), (1, 1, True)], [], [(2, 2, True)]]),
    "UTF-16, big end first": ("\ufeff0-0\n".encode("utf-16-be"), {}, [[(0, 0, True)]]),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_formats_of_other_tools_are_recognised(tmp_path, name):
    content, options, expected = FOREIGN[name]
    (tmp_path / "links").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert read_back(tmp_path / "links", **options) == expected


def test_rwth_keeps_empty_sentences_and_any_order(tmp_path):
    text = "SENT: 2\nS 0 1\nP 1 1\n\nSENT: 0\n\nSENT: 1\nS 0 0\n"
    assert gold_of(text, tmp_path) == [Gold((), ()), Gold({(0, 0)}, ()), Gold({(0, 1)}, {(1, 1)})]


LOG = (
    "2026 | INFO | loading\nS-1\tein Hund\nT-1\ta dog\nH-1\t-0.1\ta dog\nA-1\t0-0 1-1\nH-1\t-0.9\tdog\nA-1\t1-0\n"
    "S-0\tja\nH-0\t-0.2\tyes\nP-0\t-0.2 -0.1\nA-0\t0-0\nH-0\t-0.4\tyeah\nA-0\t\nGenerate test\n"
)


def test_log_takes_the_best_hypothesis_in_the_order_of_ids(tmp_path):
    path = put(tmp_path, "log", LOG)
    assert read_links(path) == [[(0, 0)], [(0, 0), (1, 1)]]
    assert read_back(path, nth=2) == [[], [(1, 0, True)]]
    with pytest.raises(NormalignError, match=r"no alignment number 3 for 2 sentences \(0, 1\)"):
        read_back(path, nth=3)


def test_log_with_a_missing_sentence(tmp_path):
    path = put(tmp_path, "log", "A-2\t0-0\nA-0\t0-0\n")
    with pytest.raises(NormalignError, match="no alignment number 1 for sentence 1; allow_missing=True"):
        read_links(path)
    assert read_back(path, allow_missing=True) == [[(0, 0, True)], [], [(0, 0, True)]]


def test_log_whose_alignments_count_pieces(tmp_path):
    path = put(tmp_path, "log", "S-0\tein Hund\nH-0\t-0.1\ta dog\nA-0\t0-0 2-1\n")
    with pytest.raises(NormalignError, match=r"log:3: link 2-1 is outside the 2 words of its S- line.*count pieces"):
        read_links(path)


MANY = "1-1 2-2\n" * 10


@pytest.mark.parametrize(
    ("text", "base"), [("0-1 3-2\n", 0), ("1-0\n", 0), (MANY, 1), ("2-3\n" * 9 + MANY, 1), ("\n\n", None)]
)
def test_base_from_the_indices(tmp_path, text, base):
    path = put(tmp_path, "links", text)
    with open_alignment(path) as file:
        list(in_step([file]))
        assert file.base == base


@pytest.mark.parametrize("text", ["1-1\n", "1-1 2-2\n" * 9, "2-3\n" * 50 + MANY])
def test_base_that_does_not_show_is_asked_for(tmp_path, text):
    path = put(tmp_path, "links", text)
    with pytest.raises(NormalignError, match=r"does it count words from 0 or 1.*say base=0 or base=1"):
        read_links(path)
    assert read_links(path, base=1)[0] in ([(0, 0)], [(0, 0), (1, 1)], [(1, 2)])


def test_a_zero_after_the_file_was_taken_to_count_from_one(tmp_path):
    path = put(tmp_path, "links", MANY * 200 + "0-1\n")
    with pytest.raises(
        NormalignError, match=r"links:2001: link 0-1 has an index 0, but the file is taken to count from 1"
    ):
        read_links(path)


@pytest.mark.parametrize(
    ("links", "base", "reverse"),
    [("0-0 2-1", 0, False), ("1-1 3-2", 1, False), ("0-0 1-2", 0, True), ("1-1 2-3", 1, True)],
)
def test_lengths_settle_base_and_direction(tmp_path, links, base, reverse):
    path = put(tmp_path, "links", f"{links}\n")
    texts = {"source": put(tmp_path, "source", "a b c\n"), "target": put(tmp_path, "target", "d e\n")}
    assert read_links(path, **texts) == read_links(path, base=base, reverse=reverse) == [[(0, 0), (2, 1)]]


def test_writer_asks_what_to_do_with_possible_links():
    with pytest.raises(NormalignError, match=r"sentence 1: link 0-1 is only possible.*possible=keep or possible=drop"):
        written("pharaoh", [[(0, 1, False)]])
    assert written("pharaoh", [[(0, 1, False), (2, 2, True)]], possible="keep") == "0-1 2-2\n"
    assert written("fairseq", [[(0, 1, False), (2, 2, True)]], possible="drop") == "A-0\t2-2\n"
    with pytest.raises(NormalignError, match="choose one of pharaoh, talp, ids, tsinghua, naacl, rwth, fairseq"):
        Writer(io.StringIO(), "giza")


# -- JSON lines --------------------------------------------------------------------------------------------------------

PAIR = AlignedPair(
    "das Haus", "the house", [(0, 3), (4, 8)], [(0, 3), (4, 9)], [(0, 0, True), (1, 1, False)], {(0, 0): 0.5}
)


def test_there_and_back():
    assert from_json(to_json(PAIR), "x:1") == PAIR


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=6), st.text(), st.text())
def test_any_links_and_texts_there_and_back(links, source, target):
    unique = {link[:2]: link for link in sorted(links)}
    spans = [[(n, n + 1) for n in range(min(4, len(text)))] for text in (source, target)]
    kept = [link for link in sorted(unique.values()) if link[0] < len(spans[0]) and link[1] < len(spans[1])]
    pair = AlignedPair(source, target, spans[0], spans[1], kept)
    assert from_json(to_json(pair), "x:1") == pair
    assert "\n" not in to_json(pair)


def test_read_as_any_alignment_file(tmp_path):
    path = put(tmp_path, "a.jsonl", f"{to_json(PAIR)}\n" * 3)
    with open_alignment(path) as file:
        (blocks,) = in_step([file])
        assert file.signature == "jsonl,base:0,source-target"
    assert list(blocks[0].sentences()) == [[(0, 0, True), (1, 1, False)]] * 3


def changed(**values):
    return json.dumps({**json.loads(to_json(PAIR)), **values})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "a:7: '{' is not a line of JSON"),
        ("[]", "'normalign' is None; version 1"),
        (changed(normalign=2), "'normalign' is 2; version 1"),
        (changed(source=None), "'source' and 'target' have to be texts"),
        (changed(source_words=3), "'source_words' has to be a list"),
        (changed(source_words=[[0, 3], [2, 8]]), "is no range of characters"),
        (changed(target_words=[[0, 30]]), "is no range of characters"),
        (changed(links=[{"source": 0}]), "is not a link with 'source' and 'target'"),
        (changed(links=[{"source": 0, "target": 2}]), "link 0-2 is out of range: 2 and 2 words"),
        (changed(links=[{"source": True, "target": 1}]), "is not a link"),
        (changed(links=[{"source": 0, "target": 0, "confidence": 2}]), "'confidence' is from 0 to 1"),
        (changed(links=[{"source": 0, "target": 0, "sure": 1}]), "'sure' true or false"),
        ("[" * 100_000, "is not a line of JSON"),
    ],
)
def test_what_is_not_such_a_line_is_refused(line, message):
    with pytest.raises(NormalignError, match=message):
        from_json(line, "a:7")
