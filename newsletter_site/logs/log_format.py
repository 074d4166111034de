"""The format of all log lines, JSON or text. docs/logs.md lists the fields."""

import json
import logging
import os
import socket
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from delivery import log_context
from newsletter_site.logs.describe_exception import describe_type, frames_of, summarise
from newsletter_site.logs.redact_log_line import Redactor
from newsletter_site.logs.routes_in_logs import hide_paths

ALWAYS = ("at", "level", "logger", "event", "process", "host", "pid")
OF_A_REQUEST = ("method", "route", "status", "ms", "bytes")
OF_AN_ERROR = ("error", "frames")
FIELDS = (*ALWAYS, *log_context.IDS, *OF_A_REQUEST, *OF_AN_ERROR)

HOST = socket.gethostname()
_ROLE_OF_COMMAND = {"deliver": "worker", "runserver": "web", "serve": "web"}


class LineFormatter(logging.Formatter):
    """Format a record as one line.

    `shape` is `json` or `lines`, and `secrets` are redacted.

    With `words`, for development, a line also has the redacted message and traceback of an
    exception.
    """

    def __init__(self, *, shape: str, words: bool, secrets: Iterable[str]) -> None:
        super().__init__()
        self._with_messages = words
        self._redactor = Redactor(secrets)
        self._render = partial(json.dumps, ensure_ascii=False) if shape == "json" else _as_text

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without a newline."""
        record = logging.makeLogRecord(record.__dict__)
        hide_paths(record)
        if not self._with_messages:
            _hide_messages(record)
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "at": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": self._redactor.redact(record.getMessage()),
            "process": name_from(tuple(sys.argv)),
            "host": HOST,
            "pid": os.getpid(),
            **log_context.bound(),
        }
        # Write only these attributes of the record, because libraries attach whole requests to
        # their records.
        line |= {name: record.__dict__[name] for name in OF_A_REQUEST if name in record.__dict__}
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            line["error"] = summarise(error)
            line["frames"] = self._frames(error)
        return self._render(line)

    def _frames(self, error: BaseException) -> str | list[str]:
        if not self._with_messages:
            return frames_of(error)
        traceback = self.formatException((type(error), error, error.__traceback__))
        # Redact each line separately. An unclosed quotation is redacted up to the end of the text.
        # In a text of many lines, an unclosed quotation would hide all later lines.
        return "\n".join(map(self._redactor.redact, traceback.splitlines()))


def _as_text(line: Mapping[str, Any]) -> str:
    head = f"{line['at']} {line['level'].upper()} {line['logger']}: {line['event']}"
    rest = {name: line[name] for name in line if name not in (*ALWAYS, *OF_AN_ERROR)}
    if rest:
        head += "  " + " ".join(f"{name}={value}" for name, value in rest.items())
    if "error" in line:
        frames = line["frames"]
        head += f"\nbecause of {line['error']}\n"
        head += frames if isinstance(frames, str) else "\n".join(f"  {frame}" for frame in frames)
    return head


class StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Write lines to stderr.

    If a line cannot be formatted, write only the place that logged it.

    The module `logging` would print the message and its arguments unredacted.
    """

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 -- logging's name
        """Write which record failed, and the type of the error."""
        error = sys.exc_info()[1]
        kind = describe_type(error) if error else "an error"
        instead = logging.LogRecord(
            record.name,
            logging.ERROR,
            record.pathname,
            record.lineno,
            "a log line could not be formatted: %s in %s, line %d",
            (kind, record.filename, record.lineno),
            None,
        )
        with suppress(Exception):
            self.stream.write(self.format(instead) + self.terminator)
            self.flush()


def _hide_messages(record: logging.LogRecord) -> None:
    """Replace each error in a record by its type, also in the record's message."""
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and record.msg == str(error):
        record.msg, record.args = summarise(error), ()
    record.msg, record.args = _without_messages(record.msg), _without_messages(record.args)


def _without_messages(value: Any) -> Any:
    if isinstance(value, BaseException):
        return summarise(value)
    if isinstance(value, tuple):
        return tuple(map(_without_messages, value))
    if isinstance(value, Mapping):
        return {name: _without_messages(each) for name, each in value.items()}
    return value


@lru_cache(maxsize=8)
def name_from(arguments: tuple[str, ...]) -> str:
    """Return a process's name: `web`, `worker`, or else the name of its command."""
    program, *rest = arguments or [""]
    if Path(program).name == "manage.py" and rest and not rest[0].startswith("-"):
        return _ROLE_OF_COMMAND.get(rest[0], rest[0])
    return Path(program).stem or "python"
