"""The only place for the sandbox's options and for how it runs as a program."""

import os
import signal
import sys
from argparse import ArgumentParser
from typing import Any

from postmark_sandbox.faults.fault_rules import KINDS, BadFault
from postmark_sandbox.http.server import CannotListen, SandboxServer
from postmark_sandbox.state.streams import TYPES, UNSUBSCRIBE_HANDLINGS

DEFAULT_PORT = 8025


def add_options(parser: ArgumentParser) -> None:
    """Adds every option of the sandbox."""
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="port on 127.0.0.1; 0 picks a free one"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed for faults that go by chance")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[:NAME=VALUE,…]",
        help=f"a fault to begin with, on every call unless told otherwise: {', '.join(KINDS)}",
    )
    parser.add_argument(
        "--probability", type=float, help="chance, 0 to 1, for every --fault that names none"
    )
    parser.add_argument(
        "--latency-ms", type=float, default=0.0, help="what every call to the API takes at least"
    )
    parser.add_argument(
        "--token", action="append", default=[], help="accept this server token only; repeatable"
    )
    parser.add_argument(
        "--verified",
        action="append",
        metavar="DOMAIN_OR_ADDRESS",
        help="accept this in From only; repeatable; without it every sender is verified",
    )
    parser.add_argument(
        "--stream",
        action="append",
        default=[],
        metavar="ID=TYPE",
        help=f"one more stream; TYPE is one of {', '.join(TYPES)}; repeatable",
    )
    parser.add_argument(
        "--unsubscribe-handling",
        choices=UNSUBSCRIBE_HANDLINGS,
        default="Custom",
        help="who handles unsubscribes on broadcast streams (default: Custom)",
    )
    parser.add_argument(
        "--webhook-url",
        help="where to post what happens to mail; a user and password in it become Basic auth",
    )
    parser.add_argument(
        "--desk-url", default="", help="the page of whoever sends here that the inbox leads back to"
    )


def run(options: dict[str, Any]) -> int:
    """Runs the sandbox until SIGTERM or Ctrl-C; the exit code: 0, or 1 if it could not begin."""
    try:
        server = SandboxServer(
            options["port"],
            seed=options["seed"],
            tokens=options["token"],
            verified=options["verified"],
            unsubscribe_handling=options["unsubscribe_handling"],
            streams=dict(_stream(text) for text in options["stream"]),
            latency_s=options["latency_ms"] / 1000,
            webhook_url=options["webhook_url"],
            desk_url=options["desk_url"],
        )
        for text in options["fault"]:
            server.sandbox.faults.set(read_fault(text, options["probability"]))
    except (CannotListen, ValueError) as wrong:
        print(wrong, file=sys.stderr)
        return 1
    # Told through a pipe: a handler may run at any instant, also where an event's lock is held.
    ending, told = os.pipe()
    before = {
        number: signal.signal(number, lambda *_: os.write(told, b"."))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    server.start()
    print(f"Postmark sandbox and its inbox: {server.url}/", flush=True)
    os.read(ending, 1)
    for number, handler in before.items():
        signal.signal(number, handler)
    server.stop()
    return 0


def read_fault(text: str, probability: float | None) -> dict[str, Any]:
    """A fault as the option writes it, `kind:name=value,name=value`, in its JSON form. It fires
    on every call unless it says otherwise."""
    kind, _, rest = text.partition(":")
    data: dict[str, Any] = {"kind": kind}
    for pair in filter(None, rest.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadFault(f"--fault has '{pair}'; expected NAME=VALUE.")
        data[name.strip()] = value.strip()
    if probability is not None:
        data.setdefault("probability", probability)
    data.setdefault("calls", None)
    return data


def _stream(text: str) -> tuple[str, str]:
    name, _, kind = text.partition("=")
    if not name or kind not in TYPES:
        raise ValueError(
            f"--stream is '{text}'; expected ID=TYPE, TYPE being one of {', '.join(TYPES)}."
        )
    return name, kind
