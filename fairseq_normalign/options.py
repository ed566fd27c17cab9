"""Options, declared once: a field of a dataclass carries its help, choices, default and role.

From such a field come the flag of the command line (:func:`add_flags`), the keyword of a function
(:func:`keywords_of`), what is checked before any work is done (:func:`check_options`), and what the results of a job
depend on (:func:`result_options`, :func:`input_files`).

    @options
    class Options:
        source: str = option("sentences, one per line", default="-", role=TEXT)
        beam: int = option("width of the beam", default=5, least=1)
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .errors import NormalignError
from .files import NAMELESS, STDIO, check_distinct, check_new_directory, check_writable, is_stdout

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
    help: str = "",
    *,
    default: Any = dataclasses.MISSING,
    kw_only: bool = True,
    role: str = RESULT,
    group: str | None = None,
    flags: Sequence[str] = (),
    also: Mapping[str, tuple[object, str]] | None = None,
    parse: Callable[[str], Any] | None = None,
    choices: Iterable[Any] = (),
    least: float | None = None,
    most: float | None = None,
    metavar: str | tuple[str, ...] | None = None,
    nargs: str | int | None = None,
    const: object = None,
    repeat: bool = False,
    positional: bool = False,
    either: str | None = None,
    needs: Sequence[str] = (),
    excludes: Sequence[str] = (),
    endings: Sequence[str] = (),
    folder: str | None = None,
    stream: bool = False,
) -> Any:
    """Declare a field that is an option. Its type says how text is read: as a number, as a switch, or as it is.

    Args:
        help: What it does; the default is added in brackets.
        default: Without a default the option is required.
        kw_only: In Python the argument has to be named.
        role: One of the roles above.
        group: The heading of the help under which it stands; by default the ``GROUP`` of its class.
        flags: Its names on the command line, by default the field's own; with ``positional`` it has none.
        also: More flags, each with the value that it stands for and its help, such as ``--cpu`` for the device.
        parse: Makes the value from text, where the type does not say it.
        choices, nargs, const: As in argparse.
        least, most: The smallest and the largest number that it may be.
        metavar: As in argparse; by default what the role or the type is called: FILE, MODEL, N, X.
        repeat: The flag can be repeated; the values are collected.
        either: Options with the same word here exclude each other; one of them is required if it ends in ``!``.
        needs, excludes: Other options that have to be given with it, and those that cannot be.
        endings: What follows the value in the names of the files that it stands for.
        folder: It is a new folder, and this is what is written there, as "a dump".
        stream: It may go to standard output, as ``-``; the option ``output`` always may.
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
    """Make a class a frozen dataclass whose fields are options; their values are checked by :func:`check_values`."""
    if "__post_init__" not in vars(cls):
        cls.__post_init__ = check_values  # type: ignore[attr-defined]
    return dataclasses.dataclass(frozen=True)(cls)


def optional(help: str, **others: Any) -> Any:
    """Declare an option that is None if it is not given."""
    return option(help, default=None, **others)


def switch(help: str, **others: Any) -> Any:
    """Declare an option that is either given or not."""
    return option(help, default=False, **others)


def output(help: str = "where to write (standard output)", *, default: Any = STDIO, **others: Any) -> Any:
    """Declare the option ``-o``: the file that results are written to."""
    return option(help, default=default, **{"role": WRITES, "group": "writing", "flags": ["-o", "--output"], **others})


def written(help: str, **others: Any) -> Any:
    """Declare a file that is written beside the results."""
    return option(help, default=None, **{"role": WRITES, "group": "writing", **others})


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


def type_of(field: dataclasses.Field[Any]) -> type | None:
    """Return int, float or bool, if that is what a field holds."""
    name = getattr(field.type, "__name__", str(field.type)).partition(" ")[0]
    return {"int": int, "float": float, "bool": bool}.get(name)


def allowed(field: dataclasses.Field[Any], value: object) -> str | None:
    """Return what a field may be, if ``value`` is something else."""
    kind, least, most, choices = type_of(field), *(field.metadata[name] for name in ("least", "most", "choices"))
    if choices:
        return None if value in choices else f"one of {', '.join(map(str, choices))}"
    if kind not in (int, float):
        return None
    is_number = isinstance(value, (int, kind)) and not isinstance(value, bool) and value == value
    if is_number and (least is None or least <= value) and (most is None or value <= most):
        return None
    span = "" if least is None else f" from {least:g} on" if most is None else f" from {least:g} to {most:g}"
    return f"{'a whole number' if kind is int else 'a number'}{span}"


def check_values(options: object) -> None:
    """Refuse values that are none of the choices of their option, or outside its range."""
    for field in dataclasses.fields(options):  # type: ignore[arg-type]
        value = getattr(options, field.name)
        if "role" in field.metadata and value is not None and not isinstance(value, (list, tuple)):
            expected, name = allowed(field, value), field.name.replace("_", " ")
            if expected and value != field.default:
                chosen = f"unknown {name} '{value}'; choose {expected}"
                raise NormalignError(chosen if field.metadata["choices"] else f"{name}: {value!r} is not {expected}")


# -- the command line ------------------------------------------------------------------------------------------------


def add_flags(parser: argparse.ArgumentParser, cls: type, *, shown: Sequence[str] | None = None) -> None:
    """Add a flag for each option of ``cls``. ``shown``: only these appear in the help, in this order.

    A flag that is not given leaves no trace in the parsed arguments: the dataclass fills in its default.
    """
    groups: dict[str, Any] = {"options": parser}
    excluding: dict[str, Any] = {}
    owners = {name: getattr(base, "GROUP", "options") for base in reversed(cls.__mro__)
              for name in vars(base).get("__annotations__", ())}  # fmt: skip
    fields = list(declared(cls))
    if shown is not None:
        fields.sort(key=lambda field: shown.index(field.name) if field.name in shown else len(shown))
    for field in fields:
        about, kind = field.metadata, type_of(field)
        title = "options" if shown is not None else about["group"] or owners[field.name]
        group = groups.get(title) or groups.setdefault(title, parser.add_argument_group(title))
        either = about["either"] or (field.name if about["also"] else None)
        if either:
            required = either.endswith("!")
            group = excluding.get(either) or group.add_mutually_exclusive_group(required=required)
            excluding[either] = group
        help = about["help"].replace("%", "%%")
        if not isinstance(field.default, (bool, tuple)) and field.default not in (None, "", STDIO, dataclasses.MISSING):
            help += f" ({field.default})" if len(str(field.default)) < 40 else ""
        given: dict[str, Any] = {"default": argparse.SUPPRESS, "help": help.strip()}
        if shown is not None and field.name not in shown:
            given["help"] = argparse.SUPPRESS
        if not about["positional"]:
            given |= {"dest": field.name, "required": field.default is dataclasses.MISSING}
        if kind is bool:
            given["action"] = "store_true" if field.default is False else argparse.BooleanOptionalAction
        else:
            given["type"] = about["parse"] or (kind and functools.partial(_number, field))
            given["metavar"] = about["metavar"] or (None if about["choices"] else METAVARS.get(kind or about["role"]))
            given |= {name: about[name] for name in ("nargs", "const", "choices") if about[name]}
            if about["repeat"]:
                given["action"] = "append"
        group.add_argument(*flags_of(field), **given)
        for flag, (value, what) in (about["also"] or {}).items():
            hint = argparse.SUPPRESS if shown is not None else what
            group.add_argument(flag, dest=field.name, action="store_const", const=value, default=given["default"],
                               help=hint)  # fmt: skip


METAVARS = {int: "N", float: "X", TEXT: "FILE", READS: "FILE", WRITES: "FILE", MODEL: "MODEL"}


def flags_of(field: dataclasses.Field[Any]) -> Sequence[str]:
    """Return the flags of an option; of a positional one its name."""
    if field.metadata["positional"]:
        return [field.name]
    return field.metadata["flags"] or [f"--{field.name.replace('_', '-')}"]


def _number(field: dataclasses.Field[Any], text: str) -> Any:
    """Return the number that a text stands for, if the option may be that."""
    value: Any = text
    with contextlib.suppress(ValueError):
        value = (type_of(field) or float)(text)
    expected = allowed(field, value)
    if expected:
        raise argparse.ArgumentTypeError(f"'{text}' is not {expected}")
    return value


# -- Python -----------------------------------------------------------------------------------------------------------


def keywords_of(cls: Callable[P, O]) -> Callable[[Callable[[O], T]], Callable[P, T]]:
    """Make a function of one options object into a function with the options as its keywords, documented by them."""

    def decorate(function: Callable[[O], T]) -> Callable[P, T]:
        signature = inspect.signature(cls)

        @functools.wraps(function)
        def with_keywords(*args: P.args, **kwargs: P.kwargs) -> T:
            signature.bind(*args, **kwargs)
            given = cls(*args, **kwargs)
            check_options(given, {name: f"'{name}'" for name in signature.parameters})
            return function(given)

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


def paths(files: Any) -> tuple[str, ...]:
    """Return the names of no file, one or several, as text; what is no name is left out.

    >>> paths(None), paths("codes"), paths([Path("a"), ("b", "c")])
    ((), ('codes',), ('a', 'b', 'c'))
    """
    if isinstance(files, (str, Path)):
        return (str(files),)
    return tuple(name for some in files for name in paths(some)) if isinstance(files, (list, tuple)) else ()


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
            for text in paths(getattr(options, field.name)) for path in _meant(text)]  # fmt: skip


def output_files(options: object) -> list[str]:
    """Return the files that options name as outputs."""
    return [path for field in declared(options) for path in _written(options, field)]


def _written(options: object, field: dataclasses.Field[Any]) -> list[str]:
    if field.metadata["role"] != WRITES:
        return []
    endings = field.metadata["endings"]
    given = paths(getattr(options, field.name))
    return [f"{path}.{ending}" for path in given for ending in endings] if endings else list(given)


def check_options(options: object, called: Mapping[str, str]) -> None:
    """Refuse options that do not go together, and files that cannot be read or written, before any work is done.

    No output may take the place of an input or of another output. ``called``: what each option is called in messages.
    """
    fields = {field.name: field for field in declared(options)}
    values = {name: getattr(options, name) for name in fields}
    given = [name for name, value in values.items() if value not in (None, False, (), fields[name].default)]
    for name in given:
        needs, excludes = fields[name].metadata["needs"], fields[name].metadata["excludes"]
        for other in (*needs, *excludes):
            if (other in given) == (other in excludes):
                which = "exclude each other; give one of them" if other in given else "belong together; give both"
                raise NormalignError(f"{called[name]} and {called[other]} {which}")

    named = {name: paths(values[name]) for name, field in fields.items() if field.metadata["role"] in (TEXT, READS)}
    if sum(path == STDIO for files in named.values() for path in files) > 1:
        raise NormalignError("standard input ('-') can be read only once")
    for name, files in named.items():
        metavar = fields[name].metadata["metavar"] or "FILE"
        for path in files if isinstance(metavar, tuple) or "FILE" in metavar else ():
            if path not in ("", STDIO) and not any(map(os.path.exists, _meant(path))):
                raise NormalignError(f"{path}: no such file or directory")

    for name, field in fields.items():
        for path in _written(options, field):
            if not path:
                raise NormalignError(NAMELESS)
            if field.metadata["folder"]:
                check_new_directory(path, field.metadata["folder"])
            elif not is_stdout(path):
                check_writable(path)
            elif name != "output" and not field.metadata["stream"]:
                raise NormalignError(f"{called[name]}: only {called['output']} can go to standard output")
    if output_files(options).count(STDIO) > 1:
        raise NormalignError("two outputs to the same file: -")
    models = [path for path in input_files(options, MODEL) if os.path.exists(path)]
    folders = {path if os.path.isdir(path) else os.path.dirname(path) or "." for path in models}
    parts = [part for folder in sorted(folders) for name in PARTS_OF_MODELS for part in Path(folder).glob(name)]
    read = [path for path in input_files(options, READS, MODEL, TEXT) if path not in ("", STDIO)]
    check_distinct(output_files(options), [*read, *parts])


def _meant(text: str) -> list[str]:
    """Return the files that a text may name: FILE, A:B, NAME=FILE."""
    return [path for path in dict.fromkeys([text, *text.split(":"), text.partition("=")[2]]) if path]
