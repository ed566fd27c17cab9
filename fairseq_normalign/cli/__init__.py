"""The command ``normalign``: one module per verb, loaded when the verb is asked for."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import keyword
import os
import re
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import NoReturn

from ..errors import NormalignError, one_line, reason_of
from ..files import OF_OUTPUT
from ..options import add_flags, check_options, declared, flags_of
from ..requirements import explained_imports
from ..version import __version__

VERBS = {
    "try": "align a sentence pair with a small model, without data or training",
    "align": "align a bitext by forced decoding",
    "check": "score how well each target translates its source; find words without a partner",
    "translate": "translate lines, and align the translations",
    "layers": "choose the layers and heads to read, without gold",
    "compare": "score every layer, head, method and step in one table",
    "score": "score alignments against gold: AER, precision, recall, F",
    "symmetrize": "combine the alignments of two directions",
    "convert": "turn one alignment format into another",
    "project": "carry markup or labels to the other language through alignments",
    "lexicon": "list the word pairs of an aligned bitext, with probabilities",
    "baseline": "align with eflomal, fast_align or GIZA++, both directions and symmetrized",
    "view": "show alignments in the terminal, as figures, as an HTML page, or as a report in a folder",
    "analyze": "measure what attention and its heads do on a text",
    "completion": "print a script that completes verbs and options in a shell",
    "user-dir": "print the path to pass to fairseq's --user-dir",
}
"""Verb -> the line that --help shows. :func:`verb_module` has a class ``Options`` and ``run(options)``, which
returns nothing or an exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; a user's mistake is one line on stderr and exit code 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    front = 0
    while arguments[front : front + 1] == ["--user-dir"]:  # it may come before the verb, too
        front += 2
    verb, arguments = next(iter(arguments[front:]), None), [*arguments[:front], *arguments[front + 1 :]]
    name, flags = f"normalign {verb}" if verb in VERBS else "normalign", {}
    try:
        with explained_imports():
            if verb not in VERBS:
                _top_level(verb)
            module = verb_module(verb)
            flags = {field.name: flags_of(field)[-1] for field in declared(module.Options)}
            options = module.Options(
                **vars(verb_parser(verb, everything="--help-all" in arguments).parse_args(arguments))
            )
            check_options(options, flags)
            code: int = module.run(options) or 0
            sys.stdout.flush()
            return code
    except NormalignError as error:
        message: object = f"{error}: {flags.get(error.option, error.option)}" if error.option else error
    except BrokenPipeError:
        _silence_stdout()
        return 141  # what a shell reports for a program that SIGPIPE ended
    except OSError as error:  # nothing of ours was half-written: whatever opens an output removes it
        _silence_stdout()
        place = "standard output" if error.errno in OF_OUTPUT else "input or output"
        message = f"{place if error.filename is None else error.filename}: {reason_of(error)}"
    except UnicodeEncodeError as error:
        _silence_stdout()
        letter = ascii(error.object[error.start])
        message = f"the letter {letter} cannot be written in {error.encoding}; set PYTHONIOENCODING=utf-8"
    except MemoryError:
        message = "not enough memory"
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    print(f"{name}: error: {one_line(message)}", file=sys.stderr)
    return 2


def verb_module(verb: str) -> ModuleType:
    """Return the module of a verb: ``a_b`` for ``a-b``, ``try_`` for ``try``."""
    name = verb.replace("-", "_") + ("_" if keyword.iskeyword(verb) else "")
    return importlib.import_module(f"{__name__}.{name}")


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line, with the option that may have been meant."""

    def parse_args(self, args=None, namespace=None):
        """Parse, and refuse an unknown option before anything else is missed."""
        for argument in args or ():
            if argument == "--":
                break
            flag = argument.partition("=")[0]
            if re.match("--[a-z]", flag) and not any(one.startswith(flag) for one in self._option_string_actions):
                self.error(f"unrecognized arguments: {argument}{_meant(flag, self._option_string_actions)}")
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise the mistake, with where the options are listed: :func:`main` prints it."""
        raise NormalignError(f"{message}; '{self.prog} --help' lists the options")


MOVED = {
    "--format": "JSON lines are now written by --json",
    "--setting": "it is called --step now",
    "--normalign-setting": "it is called --normalign-step now",
    "--by-layer": "readings are chosen by support now, and 'normalign layers' lists them",
    "report": "reports are written by 'normalign view ... --report FOLDER' now",
}
"""Flags and verbs of earlier versions -> what to use instead."""


def _meant(given: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(given, known, 1)
    return f"; {MOVED[given]}" if given in MOVED else f"; did you mean {close[0]}?" if close else ""


def verb_parser(verb: str, *, everything: bool = True) -> argparse.ArgumentParser:
    """Return the parser of a verb's options; without ``everything`` its help shows the most useful ones."""
    module = verb_module(verb)
    purpose, _, details = (module.__doc__ or "").strip().partition("\n\n")
    options = module.Options
    first = None if everything else getattr(options, "FIRST", None)
    epilog = getattr(module, "EPILOG", "") if first is None else f"'normalign {verb} --help-all' shows all options."
    parser = OneLineParser(
        prog=f"normalign {verb}",
        usage=None if first is None else f"normalign {verb} [options]",
        description="\n\n".join([purpose, f"  {options.EXAMPLE}", *([details] if first is None and details else [])]),
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--help-all", action="help", help="show all options")
    add_flags(parser, options, shown=first)
    return parser


def _top_level(found: str | None) -> NoReturn:
    width = max(map(len, VERBS)) + 2
    verbs = "\n".join(f"  {verb:<{width}}{line}" for verb, line in VERBS.items())
    parser = OneLineParser(
        prog="normalign",
        description="Word alignments from Transformers that translate, by the lengths of the vectors they add.",
        epilog=f"verbs:\n{verbs}\n\n'normalign VERB --help' shows how each is used.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"normalign {__version__}")
    parser.add_argument("verb", metavar="VERB", help="what to do; one of those below")
    found = parser.parse_args([found or "--help"]).verb
    parser.error(f"unknown verb '{found}'{_meant(found, VERBS)}")


def _silence_stdout() -> None:
    """The reader went away: keep the interpreter from complaining when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):  # in a test, standard output may be no file at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
