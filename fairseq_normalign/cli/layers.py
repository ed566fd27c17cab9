"""Choose the layers and heads to read, without gold, at the step after the word (awi) and at the one before it (awo).

Every layer and head is read on the first pairs of a bitext. A lexicon of the same pairs (IBM-1) rates each reading: its
support is the mean share that the lexicon gives to the linked words. The best reading at awi and the best at awo
are multiplied; where one of them has hardly more support than a straight line through the sentence, the other is
used alone. --save writes the choice to a file that 'normalign align --choice' takes, so that a service chooses once.
"""

from __future__ import annotations

from typing import ClassVar

from ..errors import NormalignError
from ..files import open_output
from ..options import option, options, output, switch, written
from ..show.tables import READING_STYLES, render_readings
from .bitext import COMBINING, READING, BitextOptions, ModelOptions, prepare_torch, warn_of_text
from .link_files import drawing, layouts


@options
class Options(BitextOptions, ModelOptions):
    """Everything that changes what is judged and how, and what is written."""

    GROUP: ClassVar = "judging"
    HIDDEN: ClassVar = (*(name for name in READING if name != "method"), *COMBINING)
    EXAMPLE: ClassVar = "normalign layers --path de-en.pt --bpe-codes codes --source t.de --target t.en --save choice"
    FIRST: ClassVar = "path reverse source target bpe_codes tokenizer lowercase sample save json".split()
    sample: int = option("judge by the first N pairs", default=500, least=1)
    style: str = layouts(READING_STYLES, "heads: as CTranslate2 and Whisper take them")
    json: bool = switch("write JSON", group="writing")
    rows: int = option("readings shown per direction", default=8, least=1, group="writing")
    figure: str | None = drawing("draw the support of every head")
    save: str | None = written("write the choice of --path, for align --choice")
    save_reverse: str | None = written("write that of --reverse-path", needs=("reverse",))
    output: str = output()


def run(args: Options) -> None:
    bitext = args.opened()
    prepare_torch(args)
    from ..align.aligner import load_aligner
    from ..align.sample import SAMPLE, choose_readings, doubts_of_both
    from ..analysis.choose_readings import write_choice

    aligner = load_aligner(args)
    choices = choose_readings(aligner, bitext.first(args.sample), sample=args.sample)
    if not choices[0].pairs:
        raise NormalignError(f"{bitext}: there is no sentence pair to choose readings by")
    warn_of_text("normalign layers", doubts_of_both(aligner, bitext.first(SAMPLE)))

    for path, choice in zip((args.save, args.save_reverse), choices, strict=False):
        if path:
            write_choice(path, choice)
    if args.figure:
        from ..show.plots import draw_support

        draw_support(choices, args.figure)
    text = render_readings(choices, "json" if args.json else args.style, rows=args.rows)
    with open_output(args.output) as handle:
        handle.write(text)
