"""Simulate open progress pages in one process, without a browser.

Each polls as htmx does: after the pause that the latest answer named, with a flag if the page is
hidden. `on` and `off` on standard input start and stop polling. Each `off` prints a line of JSON
with the counts.
"""

import asyncio
import html
import json
import random
import re
import sys
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_NEXT = re.compile(r'hx-get="(\?[^"]*)" hx-trigger="(?:load delay:([\d.]+)s, )?look"')


@dataclass
class Tally:
    """Counts of requests since the last `off`."""

    statuses: dict[int, int] = field(default_factory=dict)
    took_ms: list[float] = field(default_factory=list)
    failures: int = 0


@dataclass
class Page:
    """One open page."""

    name: str
    cookie: str
    hidden: bool
    query: str = ""
    asks_after_s: float = 2.0


class Pages:
    """All open pages, and whether they may poll."""

    def __init__(self, address: str, path: str, pages: list[Page]) -> None:
        self.host, self.port = urlsplit(address).hostname, urlsplit(address).port
        self.path, self.pages = path, pages
        self.may_ask = asyncio.Event()
        self.tally = Tally()

    async def live(self, page: Page) -> None:
        """Poll, wait, poll again."""
        while True:
            await asyncio.sleep(page.asks_after_s * random.uniform(0.9, 1.1))
            if not self.may_ask.is_set():
                await self.may_ask.wait()
                # Begin at a random moment within the pause.
                await asyncio.sleep(page.asks_after_s * random.random())
            began = time.perf_counter()
            try:
                status, body = await self.ask(page)
            except (OSError, ValueError, IndexError):
                self.tally.failures += 1
                page.asks_after_s = 10.0
                continue
            self.tally.took_ms.append(1000 * (time.perf_counter() - began))
            self.tally.statuses[status] = self.tally.statuses.get(status, 0) + 1
            if following := _NEXT.search(body):
                page.query = html.unescape(following[1])
                page.asks_after_s = float(following[2] or 60)

    async def ask(self, page: Page) -> tuple[int, str]:
        """Make one request on a new connection: an idle one would have been closed by now."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        hidden = "&hidden=1" if page.hidden else ""
        path = self.path.partition("?")[0] + (page.query or f"?version=1&page={page.name}")
        writer.write(
            f"GET {path}{hidden} HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{self.port}\r\nX-Forwarded-Proto: https\r\n"
            f"Cookie: sessionid={page.cookie}\r\n"
            f"HX-Request: true\r\nConnection: close\r\n\r\n".encode()
        )
        answer = await reader.read()
        writer.close()
        text = answer.decode()
        # A 304 is an answer without changes.
        return int(text.split()[1]) if 'id="counts"' in text else 304, text


async def main() -> None:
    """Open the pages that standard input describes, and follow its commands."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    plan = json.loads(await lines.readline())
    hidden = round(plan["pages"] * plan["hidden"])
    pages = Pages(
        plan["address"],
        plan["path"],
        [
            Page(f"{number:016x}", plan["cookies"][number % len(plan["cookies"])], number < hidden)
            for number in range(plan["pages"])
        ],
    )
    living = [asyncio.create_task(pages.live(page)) for page in pages.pages]
    while word := (await lines.readline()).decode().strip():
        if word == "on":
            pages.tally = Tally()
            pages.may_ask.set()
        elif word == "off":
            pages.may_ask.clear()
            tally = pages.tally
            counts = {
                "statuses": tally.statuses,
                "failures": tally.failures,
                "took_ms": sorted(tally.took_ms),
            }
            print(json.dumps(counts), flush=True)
        else:  # the path of another issue
            pages.path = word
    for task in living:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
