"""Command line of the sandbox: `python -m postmark_sandbox`."""

import signal
import sys
from argparse import ArgumentParser
from typing import Any

from postmark_sandbox.faults.fault_rules import FAULT_KINDS
from postmark_sandbox.rules.streams import TYPES, UNSUBSCRIBE_HANDLINGS
from postmark_sandbox.server import ListenError, SandboxServer


def add_options(parser: ArgumentParser) -> None:
    """Add every option of the sandbox."""
    add = parser.add_argument
    add("--port", type=int, default=8025, help="port on 127.0.0.1; 0 picks a free one")
    add("--seed", type=int, default=0, help="seed for faults that act by chance")
    add(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[:NAME=VALUE,…]",
        help=f"a fault from the start, on every call by default: {', '.join(FAULT_KINDS)}",
    )
    add("--latency-ms", type=float, default=0.0, help="minimum duration of every API call")
    add("--token", action="append", default=[], help="accept only this server token; repeatable")
    add(
        "--verified",
        action="append",
        metavar="DOMAIN_OR_ADDRESS",
        help="verified domain or address for From; repeatable; default: every sender is verified",
    )
    add(
        "--stream",
        action="append",
        default=[],
        metavar="ID=TYPE",
        help=f"additional stream; TYPE is one of {', '.join(TYPES)}; repeatable",
    )
    add(
        "--unsubscribe-handling",
        choices=UNSUBSCRIBE_HANDLINGS,
        default="Custom",
        help="who handles unsubscribes on broadcast streams (default: Custom)",
    )
    add(
        "--webhook-url",
        help="URL for webhook events; a user and password in it are sent as Basic auth",
    )
    add("--desk-url", default="", help="URL of the desk, for a link in the inbox")


def run(options: dict[str, Any]) -> int:
    """Run the sandbox until SIGTERM or Ctrl-C; return 0, or 1 if it could not start."""
    try:
        server = SandboxServer(
            options["port"],
            seed=options["seed"],
            tokens=options["token"],
            verified=options["verified"],
            unsubscribe_handling=options["unsubscribe_handling"],
            streams=dict(_read_stream(text) for text in options["stream"]),
            latency_s=options["latency_ms"] / 1000,
            webhook_url=options["webhook_url"],
            desk_url=options["desk_url"],
        )
        for text in options["fault"]:
            server.sandbox.faults.set(read_fault(text))
    except (ListenError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    signals = {signal.SIGTERM, signal.SIGINT}
    # Block the signals before the threads start, so that all threads inherit the mask.
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    server.start()
    print(f"Postmark sandbox and its inbox: {server.url}/", flush=True)
    signal.sigwait(signals)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    server.stop()
    return 0


def read_fault(text: str) -> dict[str, Any]:
    """Read `kind:name=value,…` as a fault's JSON; by default the fault hits all calls."""
    kind, _, rest = text.partition(":")
    data: dict[str, Any] = {"kind": kind}
    for pair in filter(None, rest.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--fault has '{pair}'; expected NAME=VALUE.")
        data[name.strip()] = value.strip()
    data.setdefault("calls", None)
    return data


def _read_stream(text: str) -> tuple[str, str]:
    name, _, kind = text.partition("=")
    if not name or kind not in TYPES:
        known = ", ".join(TYPES)
        raise ValueError(f"--stream is '{text}'; expected ID=TYPE, TYPE being one of {known}.")
    return name, kind


if __name__ == "__main__":
    program = "python -m postmark_sandbox"
    parser = ArgumentParser(program, description="A local server that speaks Postmark's API.")
    add_options(parser)
    sys.exit(run(vars(parser.parse_args())))
