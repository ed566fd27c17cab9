"""How fairseq's commands end: a mistake of a user is one line and exit code 2 there too."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import sys
import types

from ...errors import NormalignError, one_line, reason_of


def show_errors_in_one_line() -> None:
    """In fairseq's commands too, a user's mistake ends in one line and exit code 2, not in a traceback.

    So do Ctrl-C (130), a reader that went away (141), a full disk and input that is no text.
    """
    previous = sys.excepthook
    if getattr(previous, "shows_normalign_errors", False):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        found = ending(error)
        if found is None:
            previous(kind, error, trace)
            return
        code, message = found
        _let_go_of_stdout()
        if message:
            print(f"fairseq_normalign: {one_line(message)}", file=sys.stderr, flush=True)
        atexit._run_exitfuncs()
        os._exit(code)  # to end as usual would tear fairseq's loading thread out of torch, which aborts

    hook.shows_normalign_errors = True  # type: ignore[attr-defined]
    sys.excepthook = hook


def ending(error: BaseException) -> tuple[int, str] | None:
    """Exit code and message of errors that are no bugs; None for those that are."""
    if isinstance(error, NormalignError):
        return 2, f"error: {error}"
    if isinstance(error, KeyboardInterrupt):
        return 130, "interrupted"
    if isinstance(error, BrokenPipeError):
        return 141, ""
    if isinstance(error, UnicodeDecodeError):
        return 2, f"error: byte 0x{error.object[error.start]:02x} is not {error.encoding} text"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return 2, f"error: {error.filename or 'output'}: {reason_of(error)}"
    return None


def _let_go_of_stdout() -> None:
    """Write what is waiting; where that is not possible any more, keep the interpreter from complaining at its end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
