"""Markup carried through alignments: what must hold always, and every rule by an example."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.projection.inserting import project_markup
from fairseq_normalign.projection.markup import find_placeholders, parse_markup, strip_markup
from fairseq_normalign.projection.spans import LinkedPair
from fairseq_normalign.text.words import WORD_KINDS, find_words, space_words

from .marking import bare, check_projection, enclosed, is_nested, project, random_links, random_marked, random_tree


def words(count):
    return [f"w{number}" for number in range(count)]


@pytest.mark.parametrize("gaps", ["close", "main"])
def test_random_marked_lines_over_random_links(gaps):
    for seed in range(1200):
        rng = random.Random(seed)
        line = random_marked(rng, words(rng.randint(0, 9)))
        target = (" " * rng.randint(1, 2)).join(f"t{n}" for n in range(rng.randint(0, 9)))
        links = random_links(rng, len(bare(line).split()), len(target.split()))
        check_projection(line, target, links, gaps=gaps)
        identity = [(n, n) for n in range(len(bare(line).split()))]
        assert project(line, bare(line), identity, gaps=gaps).line == line


@pytest.mark.parametrize("gaps", ["close", "main"])
def test_many_pairs_side_by_side_over_dense_links(gaps):
    for seed in range(1500):
        rng = random.Random(seed)
        line = random_tree(rng)
        sources, targets = len(bare(line).split()), rng.randint(1, 10)
        cells = [(rng.randrange(sources), rng.randrange(targets)) for _ in range(2 * sources)]
        check_projection(line, " ".join(words(targets)), sorted(set(cells)), gaps=gaps)


LETTERS = st.text(alphabet="ab<>&{}%s0 /'\"=é我\u00a0", max_size=24)


@given(line=LETTERS, target=LETTERS)
@settings(max_examples=400, deadline=None)
def test_any_characters_lose_nothing(line, target):
    """Broken markup too: each character of the source's tags comes out, and the target's are left as they are."""
    marked = parse_markup(line)
    assert sorted(marked.full + "".join(tag.raw for tag in marked.tags)) == sorted(line)
    hidden = [marked.full[start:end] for start, end in marked.hidden]
    assert sorted(marked.text + "".join(hidden)) == sorted(marked.full)
    source_words, target_words = space_words(marked.text), space_words(target)
    links = list({(n % max(1, len(source_words)), n) for n in range(len(target_words))}) if source_words else []
    result = project_markup(
        marked, source_words, target, target_words, LinkedPair(len(source_words), len(target_words), links)
    )
    there = "".join(note.tag for note in result.notes if note.what == "already there")
    raws = "".join([*hidden, *(tag.raw for tag in marked.tags)])
    assert sorted((result.line + there).replace(" ", "")) == sorted((target + raws).replace(" ", ""))


PLACEHOLDERS = ("{0}", "{name}", "${y}", "{{x}}")


def test_placeholders_come_out_once_and_stripping_gives_the_target_back():
    for seed in range(1200):
        rng = random.Random(seed)
        line = random_marked(rng, words(rng.randint(0, 7)), pairs=2, points=1)
        for name in rng.choice((rng.sample(PLACEHOLDERS, rng.randint(1, 3)), ["%s"], ["%1$d"])):
            places = [n for n, c in enumerate(line) if c == " "] + [0, len(line)]
            place = rng.choice(places)
            forms = (f" {name} ", f"{name} ", f" {name}", name)  # beside a letter, %s is no placeholder
            line = line[:place] + rng.choice(forms[: 1 if "%" in name else 4]) + line[place:]
        target = " ".join(f"t{n}" for n in range(rng.randint(0, 9)))
        text = strip_markup(line)
        links = random_links(rng, len(text.split()), len(target.split()))
        result = project(line, target, links)
        assert strip_markup(result.line) == target, (line, target, links, result.line)
        for name in (*PLACEHOLDERS, "%s", "%1$d"):
            assert result.line.count(name) == line.count(name)
        identity = [(n, n) for n in range(len(text.split()))]
        assert project(line, text, identity).line == line, text


@pytest.mark.parametrize("kind", WORD_KINDS)
def test_natural_text_with_any_words(kind):
    line = "Wir <b>sehen</b> <i>(heute)</i> „<a href='x'>Anna</a>“!<br/>"
    text = strip_markup(line)
    found = find_words(text, kind, language="de")
    pair = LinkedPair(len(found), len(found), [(n, n) for n in range(len(found))])
    result = project_markup(parse_markup(line), found, text, found, pair)
    inside_words = kind == "spaces"  # the quotes are part of the word then: the tags go round it
    assert (result.line == line) != inside_words
    assert is_nested(result.line)


# -- each rule by an example ------------------------------------------------------------------------------------------

RULES = [
    ("words in order", "a <b>b c</b> d", "A B C D", "0-0 1-1 2-2 3-3", "A <b>B C</b> D"),
    ("reordering", "a <b>b</b> c", "B C A", "0-2 1-0 2-1", "<b>B</b> C A"),
    ("a gap of unlinked words is closed", "<b>a b</b> c", "A x B C", "0-0 1-2 2-3", "<b>A x B</b> C"),
    ("a gap of other words is closed", "<b>a b</b> c", "A C B", "0-0 1-2 2-1", "<b>A C B</b>"),
    ("one word to many", "a <b>b</b>", "A B1 B2", "0-0 1-1 1-2", "A <b>B1 B2</b>"),
    ("many words to one", "<b>a b</b> c", "AB C", "0-0 1-0 2-1", "<b>AB</b> C"),
    ("two pairs on one word are nested", "<b>a</b> <i>b</i>", "AB C", "0-0 1-0", "<b><i>AB</i></b> C"),
    ("nesting is kept", "<a>a <b>b</b></a> c", "B A C", "0-1 1-0 2-2", "<a><b>B</b> A</a> C"),
    ("all words take all words", "<p>a b</p>", "x A y B z", "0-1 1-3", "<p>x A y B z</p>"),
    ("without a link: between the neighbours", "a <b>b</b> c", "A x C", "0-0 2-2", "A <b>x</b> C"),
    ("without a link: empty", "a <b>b</b> c", "A C", "0-0 2-1", "A <b></b>C"),
    ("without a link: with what is in it", "a <b>b <br/><i>c</i></b> d", "A D", "0-0 3-1", "A <b><br/><i></i></b>D"),
    ("an empty pair", "a <b></b>b", "B A", "0-1 1-0", "<b></b>B A"),
    ("crossing pairs are cut apart", "<b>a b</b> <i>c d</i> e", "A C B D D2 E", "0-0 1-2 2-1 3-3 3-4 4-5",
     "<b>A</b> <i>C B D D2</i> E"),
    ("one pair inside the other", "<b>a b</b> <i>c</i> d", "A C B D", "0-0 1-2 2-1 3-3", "<b>A <i>C</i> B</b> D"),
    ("a void tag touches the word before", "a<br/> b c", "C B A", "0-2 1-1 2-0", "C B A<br/>"),
    ("a void tag touches the word after", "a <br/>b c", "B A C", "0-1 1-0 2-2", "<br/>B A C"),
    ("a void tag between spaces", "a <br/> b c", "B A C", "0-1 1-0 2-2", "<br/>B A C"),
    ("its neighbour has no link", "a <br/>b c", "A C", "0-0 2-1", "A <br/>C"),
    ("at the start and the end", "<br/>a b<hr/>", "B A", "0-1 1-0", "<br/>B A<hr/>"),
    ("a void tag stays in its pair", "<b>a <br/>b</b> c", "B C A", "0-2 1-0 2-1", "<b><br/>B C A</b>"),
    ("a void tag stays out of a pair", "<b>a b</b> c <br/>d", "A D B C", "0-0 1-2 2-3 3-1", "<br/><b>A D B</b> C"),
    ("a tag inside a word goes round it", "un<b>believ</b>able b", "B A", "0-1 1-0", "B <b>A</b>"),
    ("a lone tag inside a word goes before it", "a b<x/>b c", "C B A", "0-2 1-1 2-0", "C <x/>B A"),
    ("no partner", "a <b>b c", "C B A", "0-2 1-1 2-0", "C <b>B A"),
    ("crossed tags", "<b>a <i>b</b> c</i> d", "A B C D", "0-0 1-1 2-2 3-3", "<b>A <i>B</b> C</i> D"),
    ("no links at all", "a <b>b</b> c d<br/> e", "A B C D", "", "A <b></b>B C<br/> D"),
    ("no target words", "<b>a</b> b", "", "", "<b></b>"),
    ("no source words", "<br/> ", "A B", "", "<br/>A B"),
    ("upper case is the same name", "<B>a</b> b", "B A", "0-1 1-0", "B <B>A</b>"),
    ("a comment and a script are no text", "<!-- <b> -->a <script>x < y</script>b", "B A", "0-1 1-0",
     "<!-- <b> --><script>x < y</script>B A"),
    # placeholders
    ("a placeholder", "Wir haben {0} Dateien gefunden", "We found files", "0-0 1-1 2-2 3-1", "We found {0} files"),
    ("a placeholder before punctuation", "Klick {0} , ja", "yes , click", "0-2 1-1 2-0", "yes , click {0}"),
    ("a placeholder without spaces", "a ({0}) b", "B A ( )", "0-1 1-2 2-0", "B A {0}( )"),
    ("a placeholder that is there", "Press {0} to go", "zum {0} Gehen drücken", "0-3 1-0 2-2",
     "zum {0} Gehen drücken"),
    ("one that is there is a linked word", "Enter <b>{0}</b> as value", "{0} als Wert eingeben", "0-3 1-1 2-2",
     "<b>{0}</b> als Wert eingeben"),
    ("whatever it was linked to", "<b>Enter</b> {0} as value", "{0} als Wert eingeben", "0-0 0-3 1-1 2-2",
     "{0} als Wert <b>eingeben</b>"),
    ("a word of a longer pair", "Wait <b>{n} minutes</b> , please", "Bitte {n} Minuten warten", "0-3 1-2 3-0",
     "Bitte <b>{n} Minuten</b> warten"),
    ("in a link", "See <a>{page}</a> now", "Jetzt {page} ansehen", "0-2 1-0", "Jetzt <a>{page}</a> ansehen"),
    ("beside a comma", "See <a>{page}</a> now", "Jetzt ansehen: {page}, ja", "0-1 1-0",
     "Jetzt ansehen: <a>{page}</a>, ja"),
    ("one of two is there", "{0} a {0} b", "B {0} A", "0-2 1-0", "{0} B {0} A"),
    ("a lost one keeps its spaces", "We adopted <b>{0}</b> proposals", "adopted proposals", "1-0 2-1",
     "adopted <b>{0}</b> proposals"),
    ("before a comma too", "Press {0} , then", "Drücken, dann", "0-0 2-1", "Drücken, {0} dann"),
    ("in another order", "%1$s <b>von</b> %2$s", "%2$s of %1$s", "0-1", "%2$s <b>of</b> %1$s"),
    ("two lost ones in a pair", "<b>{0}{1}</b> a", "A", "0-0", "<b>{0}{1}</b> A"),
    # siblings
    ("siblings stay apart", "<a>a b</a> <i>c d</i> e", "X Y Z D", "0-0 1-1 2-1 3-2 4-3",
     "<a>X</a> <i>Y Z</i> D"),
    ("no pair in one of its name", "<a>a b</a> <a>c</a> d", "A C B D", "0-0 1-2 2-1 3-3", "<a>A</a> <a>C</a> B D"),
    # elements of translation files
    ("pairs of XLIFF 1.2", "a <bx id='1'/>b<ex id='1'/> c", "C B A", "0-2 1-1 2-0", "C <bx id='1'/>B<ex id='1'/> A"),
    ("pairs of XLIFF 2", 'a <sc id="7"/>b<ec startRef="7"/> c', "C B A", "0-2 1-1 2-0",
     'C <sc id="7"/>B<ec startRef="7"/> A'),
    ("pairs of XLIFF in pairs", "a <bx id='1'/>b <bx id='2'/>c<ex id='2'/><ex id='1'/>", "C B A", "0-2 1-1 2-0",
     "<bx id='1'/><bx id='2'/>C<ex id='2'/> B<ex id='1'/> A"),
    ("native code", 'a <bpt i="1">&lt;b></bpt>b<ept i="1">&lt;/b></ept> c<ph x="2">&lt;br></ph>', "C B A",
     "0-2 1-1 2-0", 'C <bpt i="1">&lt;b></bpt>B<ept i="1">&lt;/b></ept> A<ph x="2">&lt;br></ph>'),
    ("numbers for names", "a <1>b <2>c</2></1> d", "D B C A", "0-3 1-1 2-2 3-0", "D <1>B <2>C</2></1> A"),
    ("a number alone is text", "a <1> b", "<1> A B", "0-1 1-0 2-2", "<1> A B"),
    ("a break ends a word", "<li>a</li><li>b</li>", "B A", "0-1 1-0", "<li>B</li> <li>A</li>"),
    # punctuation
    ("brackets in the target alone", "Click <b>Save</b> now", "Jetzt [ Sichern ] klicken", "0-4 1-2 2-0",
     "Jetzt <b>[ Sichern ]</b> klicken"),
    ("quotes around more words", "a <b>b c</b> d", "A « B C E » D", "0-0 1-2 2-3 3-6", "A <b>« B C E »</b> D"),
    ("brackets that the source has", "a ( <b>b</b> ) c", "A ( B ) C", "0-0 2-2 4-4", "A ( <b>B</b> ) C"),
    ("brackets around other words too", "a <b>b</b> c d", "A ( B C ) D", "0-0 1-2 2-3 3-5", "A ( <b>B</b> C ) D"),
    ("one bracket inside, one outside", "a ( b <b>c )</b> d", "a ( b c ) d", "0-0 1-1 2-2 3-3 4-4 5-5",
     "a ( b <b>c )</b> d"),
    ("a comma at the edge", "a <b>b</b> c", "A B , C", "0-0 1-1 1-2 2-3", "A <b>B</b> , C"),
    ("no tag in a placeholder of the target", "<b>a</b> b", "A{0} B", "0-0 1-1", "<b>A{0}</b> B"),
    ("no tag in a character reference", "<b>a</b> b", "A&lt; B", "0-0 1-1", "<b>A&lt;</b> B"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "line", "target", "links", "expected"), RULES, ids=[row[0] for row in RULES])
def test_rule(rule, line, target, links, expected):
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    assert project(line, target, pairs).line == expected


def test_main_part_alone():
    assert project("<b>a b</b> c", "A x B y C", [(0, 0), (1, 1), (1, 2), (2, 4)], gaps="main").line == (
        "<b>A x B</b> y C"
    )
    links = [(0, 0), (0, 1), (1, 4), (2, 3)]
    assert project("<b>a b</b> c", "A A2 y C B", links, gaps="main").line == "<b>A A2</b> y C B"
    assert project("<b>a b</b> c", "A A2 y C B", links).line == "<b>A A2 y C B</b>"


def test_a_pair_encloses_every_word_linked_to_it_when_nothing_crosses():
    for seed in range(600):
        rng = random.Random(seed)
        source = words(rng.randint(1, 8))
        first = rng.randrange(len(source))
        last = rng.randint(first + 1, len(source))
        line = " ".join([*source[:first], "<b>" + " ".join(source[first:last]) + "</b>", *source[last:]])
        target = [f"t{n}" for n in range(rng.randint(1, 8))]
        links = random_links(rng, len(source), len(target))
        found = enclosed(project(line, " ".join(target), links).line, "<b>")
        assert {target[t] for s, t in links if first <= s < last} <= set(found)


@pytest.mark.parametrize(
    ("line", "target", "links", "what"),
    [
        ("a <b>b</b> c", "A C", [(0, 0), (2, 1)], ["unaligned"]),
        ("a <b>b</b> c", "A x C", [(0, 0), (2, 2)], ["guessed"]),
        ("<b>a b</b> <i>c d</i> e", "A C B D E", [(0, 0), (1, 2), (2, 1), (3, 3), (4, 4)], ["cut"]),
        ("un<b>believ</b>able", "A", [(0, 0)], ["widened"]),
        ("a <b>b", "A B", [(0, 0), (1, 1)], ["unmatched"]),
        ("a {0}", "{0} A", [(0, 1)], ["already there"]),
        ("a <b>b</b>", "A B", [(0, 0), (1, 1)], []),
    ],
)
def test_what_a_reader_should_know_is_reported(line, target, links, what):
    assert [note.what for note in project(line, target, links).notes] == what


def test_confidence_falls_with_unlinked_words_and_gaps():
    full = project("<b>a b</b> c", "A B C", [(0, 0), (1, 1), (2, 2)], confidence=True).confidences
    half = project("<b>a b</b> c", "A B C", [(0, 0), (2, 2)], confidence=True).confidences
    gap = project("<b>a b</b> c", "A C B", [(0, 0), (1, 2), (2, 1)], confidence=True).confidences
    assert full == [1.0]
    assert half == [pytest.approx(2 / 3)]
    assert gap == [pytest.approx(4 / 5)]


LONG = 16_000
HOSTILE = {
    "nested": ("<b>w " * 250 + "</b>" * 250, 250, "same"),
    "never closed": ("<b>w " * LONG, LONG, "same"),
    "unfinished": ("<a " * LONG, 1, ""),
    "quotes": ("<a '\" " * LONG, 1, ""),
    "comments": ("<!--" * LONG, 1, ""),
    "without links": ("<b>w</b> " * LONG, LONG, ""),
    "placeholders": ("{0} w " * LONG, LONG, "same"),
    "native code": ("<bpt i='1'>&lt;b></bpt>w<ept i='1'>&lt;/b></ept> " * 4000, 4000, "same"),
    "numbers": ("<1>w</1> " * LONG, LONG, "same"),
    "list items": ("<li>w" * LONG, LONG, "same"),
    "crossing": ("<b>w v</b> " * 3000, 6000, "crossing"),
    "crossing, other names": ("".join(f"<b{n}>w v</b{n}> " for n in range(3000)), 6000, "crossing"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_long_lines_take_seconds(name):
    line, count, kind = HOSTILE[name]
    same = [(n, n) for n in range(count)]
    crossing = [(n, n // 2 if n % 2 == 0 else count - 1 - n // 2) for n in range(count)]
    links = {"same": same, "crossing": crossing, "": []}[kind]
    started = time.process_time()
    project(line, " ".join(words(count)), links, gaps="close")
    assert time.process_time() - started < 15


def test_nesting_has_a_limit():
    with pytest.raises(NormalignError, match="tags are nested more than 250 deep"):
        parse_markup("<b>w " * LONG + "</b>" * LONG)


@pytest.mark.parametrize(
    ("line", "options", "text"),
    [
        ("eins<br>zwei", {}, "eins zwei"),
        ("<ul><li>eins</li><li>zwei</li></ul>", {}, "eins zwei"),
        ("un<b>glaub</b>lich", {}, "unglaublich"),
        ("Press <b>{0}</b> to go", {}, "Press to go"),
        ('a <ph id="1">&lt;br/></ph>b <ph>{x}</ph> <it pos="open">i</it>', {}, "a b "),
        ('a <ph id="1">name</ph>', {"dita": True}, "a name"),
        ("a <ph>name</ph>", {}, "a name"),
        ("Type <code>ls</code> <span translate='no'>a <span>b</span></span> now", {}, "Type ls a b now"),
        ("Type <code>ls</code> <span translate='no'>a <span>b</span></span> now", {"protect": True}, "Type now"),
        ('<i class="x notranslate">a</i> b', {"protect": True}, "b"),
        ("&#" + "9" * 4301 + "; &amp;", {"entities": True}, "&#" + "9" * 4301 + "; &"),
    ],
)
def test_what_is_text(line, options, text):
    assert strip_markup(line, **options) == text


def test_entities():
    marked = parse_markup("AT&amp;T <b>1 &lt; 2</b>", entities=True)
    assert marked.text == "AT&T 1 < 2"
    found = space_words(marked.text)
    pair = LinkedPair(4, 4, [(0, 3), (1, 0), (2, 1), (3, 2)])
    target = "1 < 2 AT&T"
    result = project_markup(marked, found, target, space_words(target), pair, entities=True)
    assert result.line == "<b>1 &lt; 2</b> AT&amp;T"
    assert strip_markup(result.line, entities=True) == target


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{0} {a.b} {a[0]} {x!r:>8}", ["{0}", "{a.b}", "{a[0]}"]),
        ("{} {a b} { } {", ["{}"]),
        ("${HOME} $5 {{mustache}}", ["${HOME}", "{{mustache}}"]),
        ("%s %d %5.2f %1$s %(name)s %@", ["%s", "%d", "%5.2f", "%1$s", "%(name)s", "%@"]),
        ("50% sure, 100%d, %discount, %% %", []),
    ],
)
def test_placeholders_are_found(text, found):
    assert [text[start:end] for start, end in find_placeholders(text)] == found
