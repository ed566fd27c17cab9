"""Options, declared once: a field of a dataclass carries its help, choices, default and role.

From such a field come the flag of the command line (:func:`add_flags`), the keyword of a function
(:func:`keywords_of`), the guard against overwriting an input (:func:`check_files`), and what the results of a job
depend on (:func:`result_options`, :func:`input_files`).

    @options
    class Options:
        source: str = option(default="-", help="sentences, one per line", metavar="FILE", role=TEXT)
        beam: int = option(default=5, help="width of the beam", parse=positive)
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .errors import NormalignError
from .files import STDIO, check_distinct

P = ParamSpec("P")
T = TypeVar("T")
O = TypeVar("O")  # noqa: E741
FilePath = str | Path
FilePaths = FilePath | Sequence[FilePath] | None
"""One file, or several."""

RESULT, SPEED, TEXT, READS, MODEL, WRITES = "result", "speed", "text", "reads", "model", "writes"
"""The roles of options: changes the result; only its speed, or what is shown meanwhile; names a text that is read line
by line; another file that is read; a model, whose folder is read too; a file that is written."""

PARTS_OF_MODELS = (
    *("dict.*.txt", "*.safetensors", "*.bin", "*.spm", "*.model", "config.json", "generation_config.json"),
    *("tokenizer*.json", "vocab.*", "merges.txt"),
)
"""Files that are read because they are in the folder of a model, or next to its checkpoint."""


def option(
    *,
    default: Any = dataclasses.MISSING,
    help: str = "",
    kw_only: bool = True,
    role: str = RESULT,
    group: str | None = None,
    flags: Sequence[str] = (),
    also: Mapping[str, tuple[object, str]] | None = None,
    parse: Callable[[str], Any] | None = None,
    choices: Iterable[Any] = (),
    metavar: str | tuple[str, ...] | None = None,
    nargs: str | int | None = None,
    const: object = None,
    repeat: bool = False,
    positional: bool = False,
    either: str | None = None,
    endings: Sequence[str] = (),
) -> Any:
    """Declare a field that is an option.

    Args:
        default: Without a default the option is required.
        help: What it does; the default is added in brackets.
        kw_only: In Python the argument has to be named.
        role: One of the roles above.
        group: The heading of the help under which it stands; by default the ``GROUP`` of its class.
        flags: Its names on the command line, by default the field's own; with ``positional`` it has none.
        also: More flags, each with the value that it stands for and its help, such as ``--cpu`` for the device.
        parse: Makes the value from text; ``bool`` makes a pair of flags, ``--x`` and ``--no-x``.
        choices, metavar, nargs, const: As in argparse.
        repeat: The flag can be repeated; the values are collected.
        either: Options with the same word here exclude each other; one of them is required if it ends in ``!``.
        endings: What follows the value in the names of the files that it stands for.
    """
    choices = tuple(choices)
    metadata = {name: value for name, value in locals().items() if name not in ("default", "kw_only")}
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[T], T]:
        """At run time nothing: it only tells type checkers about :func:`options`."""
        return lambda decorate: decorate


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
def options(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose fields are options."""
    return dataclasses.dataclass(frozen=True)(cls)


def output(help: str = "where to write (standard output)", *, default: Any = STDIO, **others: Any) -> Any:
    """Declare the option ``-o``: the file that results are written to."""
    given = {"metavar": "FILE", "role": WRITES, "group": "writing", "flags": ["-o", "--output"], **others}
    return option(default=default, help=help, **given)


def written(help: str, **others: Any) -> Any:
    """Declare a file that is written beside the results."""
    return option(default=None, help=help, **{"metavar": "FILE", "role": WRITES, "group": "writing", **others})


def positive(text: str) -> int:
    """Return a whole number from 1 on.

    >>> positive("12")
    12
    """
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def declared(options: object) -> Iterator[dataclasses.Field[Any]]:
    """Yield the fields of a dataclass, or of an object of it, that are options and not hidden by ``HIDDEN``."""
    for field in dataclasses.fields(options):  # type: ignore[arg-type]
        if "role" in field.metadata and field.name not in getattr(options, "HIDDEN", ()):
            yield field


# -- the command line ------------------------------------------------------------------------------------------------


def add_flags(parser: argparse.ArgumentParser, cls: type, *, shown: Sequence[str] | None = None) -> None:
    """Add a flag for each option of ``cls``. ``shown``: only these appear in the help, in this order.

    A flag that is not given leaves no trace in the parsed arguments: the dataclass fills in its default.
    """
    groups: dict[str, Any] = {}
    excluding: dict[str, Any] = {}
    owners = {name: getattr(base, "GROUP", "options") for base in reversed(cls.__mro__)
              for name in vars(base).get("__annotations__", ())}  # fmt: skip
    fields = list(declared(cls))
    if shown is not None:
        fields.sort(key=lambda field: shown.index(field.name) if field.name in shown else len(shown))
    for field in fields:
        about = field.metadata
        title = "options" if shown is not None else about["group"] or owners[field.name]
        if title == "options":
            groups[title] = parser
        elif title not in groups:
            groups[title] = parser.add_argument_group(title)
        group = groups[title]
        either = about["either"] or (field.name if about["also"] else None)
        if either:
            required = either.endswith("!")
            group = excluding.setdefault(either, None) or group.add_mutually_exclusive_group(required=required)
            excluding[either] = group
        hidden = shown is not None and field.name not in shown
        help = argparse.SUPPRESS if hidden else _help(field)
        given: dict[str, Any] = {"default": argparse.SUPPRESS, "help": help}
        flags = about["flags"] or [f"--{field.name.replace('_', '-')}"]
        if about["positional"]:
            flags = [field.name]
        else:
            given |= {"dest": field.name, "required": field.default is dataclasses.MISSING}
        if about["parse"] is bool:
            given["action"] = argparse.BooleanOptionalAction
        elif field.default is False:
            given["action"] = "store_true"
        else:
            for name in ("metavar", "nargs", "const"):
                if about[name] is not None:
                    given[name] = about[name]
            if about["choices"]:
                given["choices"] = about["choices"]
            given["type"] = about["parse"]
            if about["repeat"]:
                given["action"] = "append"
        group.add_argument(*flags, **given)
        for flag, (value, what) in (about["also"] or {}).items():
            hint = argparse.SUPPRESS if shown is not None else what
            group.add_argument(flag, dest=field.name, action="store_const", const=value, default=given["default"],
                               help=hint)  # fmt: skip


def _help(field: dataclasses.Field[Any]) -> str:
    """Return the help of a field with its default, if that says something."""
    default, help = field.default, field.metadata["help"].replace("%", "%%")
    said = not isinstance(default, (bool, tuple)) and default not in (None, "", STDIO, dataclasses.MISSING)
    said = said and len(str(default)) < 40
    return f"{help} ({default})".strip() if said else help


def check_choices(options: object) -> None:
    """Refuse a value that is none of the choices of its option."""
    for field in dataclasses.fields(options):  # type: ignore[arg-type]
        choices, value = field.metadata.get("choices"), getattr(options, field.name)
        if choices and value is not None and isinstance(value, str) and value not in choices:
            name = field.name.replace("_", " ")
            raise NormalignError(f"unknown {name} '{value}'; choose one of {', '.join(map(str, choices))}")


# -- Python -----------------------------------------------------------------------------------------------------------


def keywords_of(cls: Callable[P, O]) -> Callable[[Callable[[O], T]], Callable[P, T]]:
    """Make a function of one options object into a function with the options as its keywords, documented by them."""

    def decorate(function: Callable[[O], T]) -> Callable[P, T]:
        signature = inspect.signature(cls)

        @functools.wraps(function)
        def with_keywords(*args: P.args, **kwargs: P.kwargs) -> T:
            signature.bind(*args, **kwargs)
            return function(cls(*args, **kwargs))

        returns = inspect.signature(function).return_annotation
        with_keywords.__signature__ = signature.replace(return_annotation=returns)  # type: ignore[attr-defined]
        with_keywords.__annotations__ = {"return": returns}
        lines = [f"    {field.name}: {field.metadata['help'][:1].upper()}{field.metadata['help'][1:]}."
                 for field in declared(cls)]  # fmt: skip
        with_keywords.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Args:", *lines])
        return with_keywords

    return decorate


def part_of(cls: type[T], options: object) -> T:
    """Return an object of ``cls`` with the values that ``options`` has for its fields."""
    return cls(**{field.name: getattr(options, field.name) for field in dataclasses.fields(cls)})  # type: ignore[arg-type]


def paths(files: FilePaths) -> tuple[str, ...]:
    """Return the names of no file, one or several, as text.

    >>> paths(None), paths("codes"), paths([Path("a"), "b"])
    ((), ('codes',), ('a', 'b'))
    """
    if files is None:
        return ()
    return (str(files),) if isinstance(files, (str, Path)) else tuple(map(str, files))


# -- what options name, and what they change --------------------------------------------------------------------------


def result_options(options: object) -> dict[str, object]:
    """Return everything that changes the result of a job, but for the contents of :func:`input_files` and of its text.

    Of an output it tells whether it is asked for.
    """
    found: dict[str, object] = {}
    for field in declared(options):
        value = getattr(options, field.name)
        if field.metadata["role"] in (RESULT, READS, MODEL):
            found[field.name] = [str(one) for one in value] if isinstance(value, (list, tuple)) else value
        elif field.metadata["role"] == WRITES:
            found[field.name] = value not in (None, False)
    return {name: str(value) if isinstance(value, Path) else value for name, value in found.items()}


def input_files(options: object, *roles: str) -> list[str]:
    """Return the files and models that options name as inputs, but for the text; ``roles``: those with these roles."""
    return [path for field in declared(options) if field.metadata["role"] in (roles or (READS, MODEL))
            for path in _named(getattr(options, field.name))]  # fmt: skip


def output_files(options: object) -> list[str]:
    """Return the files that options name as outputs."""
    written = []
    for field in declared(options):
        if field.metadata["role"] == WRITES:
            endings = field.metadata["endings"]
            for path in paths(getattr(options, field.name)):
                written += [f"{path}.{ending}" for ending in endings] if endings else [path]
    return written


def check_files(options: object) -> None:
    """Refuse an output in the place of an input, or of another output."""
    read = [path for path in input_files(options, READS, MODEL, TEXT) if path not in ("", STDIO)]
    named = [path for path in input_files(options, MODEL) if os.path.exists(path)]
    folders = {path if os.path.isdir(path) else os.path.dirname(path) or "." for path in named}
    parts = [part for folder in sorted(folders) for name in PARTS_OF_MODELS for part in Path(folder).glob(name)]
    check_distinct(output_files(options), [*read, *parts])


def _named(value: Any) -> list[str]:
    """Return the files that a value may name: FILE, A:B, NAME=FILE, or several of such."""
    if isinstance(value, (list, tuple)):
        return [path for part in value for path in _named(part)]
    if not isinstance(value, (str, Path)):
        return []
    text = str(value)
    return [path for path in dict.fromkeys([text, *text.split(":"), text.partition("=")[2]]) if path]
