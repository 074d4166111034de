"""
What a line of the log looks like: the only place that makes one, whoever logged it.

Our own modules and every library log by `logging`, as Python has it. `LineFormatter` makes a line
of JSON of that, or one for people, with the ids that are bound (`delivery/log_context.py`), without
the
words of a fault (`faults.py`), with routes for the addresses of pages, and through the net
(`redact.py`). docs/logs.md lists the fields.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from structlog.stdlib import ProcessorFormatter

from delivery import log_context
from newsletter_site.logs.exceptions import describe_type, summarise
from newsletter_site.logs.process_name import process_name
from newsletter_site.logs.redact import Redactor
from newsletter_site.logs.routes import hide_paths

ALWAYS = ("at", "level", "logger", "event", "process", "host", "pid")
# What the line of a request says besides (requests.py).
OF_A_REQUEST = ("method", "route", "status", "ms", "bytes")
OF_A_FAULT = ("fault", "places")
FIELDS = (*ALWAYS, *log_context.IDS, *OF_A_REQUEST, *OF_A_FAULT)

HOST = socket.gethostname()

Line = MutableMapping[str, Any]


class LineFormatter(ProcessorFormatter):
    """
    Makes a line of a record. `shape` is `json` or `lines`; `secrets` are taken out of every text.

    With `words` faults keep their own words and their whole traceback, as far as the net lets them:
    for development alone.
    """

    def __init__(self, *, shape: str, words: bool, secrets: Iterable[str]) -> None:
        self._words = words
        self._net = Redactor(secrets)
        self._render = as_json if shape == "json" else as_text
        super().__init__(
            foreign_pre_chain=[],
            processors=[self._with_fields, self._as_one_text],
        )

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        record = logging.makeLogRecord(record.__dict__)
        hide_paths(record)
        if not self._words:
            _tell_no_words(record)
        return super().format(record)

    def _with_fields(self, logger: Any, name: str, line: Line) -> Line:
        record: logging.LogRecord = line["_record"]
        made: dict[str, Any] = {
            "at": moment_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": self._net.through(str(line["event"])),
            "process": process_name(),
            "host": HOST,
            "pid": os.getpid(),
            **log_context.bound(),
        }
        # Of what else a record carries nothing is written: libraries hang whole requests on it.
        made |= {name: record.__dict__[name] for name in OF_A_REQUEST if name in record.__dict__}
        error = (line.get("exc_info") or (None, None))[1]
        if error is not None:
            self._add_fault(made, error)
        return made

    def _as_one_text(self, logger: Any, name: str, line: Line) -> str:
        return self._render(line)

    def _add_fault(self, made: Line, error: BaseException) -> None:
        fault = summarise(error)
        made["fault"] = fault.sentence
        if self._words:
            traceback = logging.Formatter().formatException(
                (type(error), error, error.__traceback__)
            )
            # Line by line: what a line quotes, or begins to, is taken out to the end of the text.
            made["places"] = "\n".join(map(self._net.through, traceback.splitlines()))
        else:
            made["places"] = list(fault.places)


def moment_of(record: logging.LogRecord) -> str:
    """When it was logged, in UTC, to the thousandth of a second."""
    at = datetime.fromtimestamp(record.created, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_json(line: Line) -> str:
    """One object on one line."""
    return json.dumps(line, ensure_ascii=False)


def as_text(line: Line) -> str:
    """A line for people: the sentence first, then what is bound to it."""
    head = f"{line['at']} {line['level'].upper()} {line['logger']}: {line['event']}"
    rest = {name: line[name] for name in line if name not in (*ALWAYS, *OF_A_FAULT)}
    if rest:
        head += "  " + " ".join(f"{name}={value}" for name, value in rest.items())
    if "fault" in line:
        places = line["places"]
        head += f"\nbecause of {line['fault']}\n"
        head += places if isinstance(places, str) else "\n".join(f"  {place}" for place in places)
    return head


class StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """
    Writes lines to stderr. Of a line that cannot be made it writes that, and no more.

    Left to itself `logging` then prints the message and what was to stand in it, as they are.
    """

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 -- logging's name
        """Say which line it was and what was wrong with it."""
        error = sys.exc_info()[1]
        kind = describe_type(error) if error is not None else "a fault"
        instead = logging.LogRecord(
            record.name,
            logging.ERROR,
            record.pathname,
            record.lineno,
            "a line of the log could not be made: %s in %s, line %d",
            (kind, record.filename, record.lineno),
            None,
        )
        with suppress(Exception):
            self.stream.write(self.format(instead) + self.terminator)
            self.flush()


class HasException(logging.Filter):
    """Only what broke: that a request was refused or put off stands on its own line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record has a fault."""
        return bool(record.exc_info)


def _tell_no_words(record: logging.LogRecord) -> None:
    """Of every error that a record speaks of tell the kind; its words may be the message itself."""
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and record.msg == str(error):
        record.msg, record.args = summarise(error).sentence, ()
    record.msg, record.args = _without_words(record.msg), _without_words(record.args)


def _without_words(value: Any) -> Any:
    if isinstance(value, BaseException):
        return summarise(value).sentence
    if isinstance(value, tuple):
        return tuple(_without_words(each) for each in value)
    if isinstance(value, Mapping):
        return {name: _without_words(each) for name, each in value.items()}
    return value
