"""Opening the links of a letter, several at a time and bounded as a whole."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from delivery.log_context import inherited
from publishing.external_checks.link_result import LinkAnswer
from publishing.external_checks.open_link import LinkOpener

LONGEST_LOOK_S = 10.0
MOST_LINKS = 40
AT_A_TIME = 8


def open_links(
    addresses: Sequence[str], opener: LinkOpener, *, within_s: float = LONGEST_LOOK_S
) -> dict[str, LinkAnswer]:
    """What came of each link that could be opened in time, at most `MOST_LINKS` of them."""
    wanted = list(dict.fromkeys(addresses))[:MOST_LINKS]
    until = time.monotonic() + within_s
    open_one = inherited(opener.open)
    pool = ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="link")
    try:
        looks = {pool.submit(open_one, address, until=until): address for address in wanted}
        done, _ = wait(looks, timeout=within_s)
        return {looks[look]: look.result() for look in done}
    finally:
        # Whoever still looks is bounded by the same moment, and keeps nobody waiting.
        pool.shutdown(wait=False, cancel_futures=True)
