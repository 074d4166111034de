"""Check the sender's domain and the links of a letter, concurrently."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from delivery.log_context import inherited
from publishing.external_checks import cached_results
from publishing.external_checks.domain_records import NameServers, look_up_domain
from publishing.external_checks.open_link import LinkOpener, LinkResult

LINKS_TIMEOUT_S = 10.0
MAX_LINKS = 40
CONCURRENCY = 8


def check_letter(domain: str, links: Sequence[str]) -> None:
    """Check the domain and all links without a fresh result, and save the results.

    Call this outside a transaction.

    `domain` may be empty.
    """
    opener, cached = LinkOpener(NameServers()), cached_results.load_fresh(domain, links)
    # Open a link again if its stored result does not say whether the link works.
    answered = {url for url, result in cached.links.items() if result.is_ok or result.is_dead}
    left = [url for url in links if url not in answered]
    with ThreadPoolExecutor(1, thread_name_prefix="domain-check") as pool:
        looked_up = (
            pool.submit(inherited(look_up_domain), domain, opener.servers)
            if domain and not (cached.domain and cached.domain.is_known)
            else None
        )
        results = open_links(left, opener) if left else {}
        records = looked_up.result() if looked_up else None
    if records is not None:
        cached_results.save(cached_results.DOMAIN, {domain: records})
    cached_results.save(cached_results.LINK, results)


def open_links(
    urls: Sequence[str], opener: LinkOpener, *, timeout_s: float = LINKS_TIMEOUT_S
) -> dict[str, LinkResult]:
    """Open at most `MAX_LINKS` links; return the results that arrive in time."""
    first = list(dict.fromkeys(urls))[:MAX_LINKS]
    deadline = time.monotonic() + timeout_s
    open_one = inherited(opener.open)
    pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="link")
    try:
        opened = {pool.submit(open_one, url, deadline=deadline): url for url in first}
        done, _ = wait(opened, timeout=timeout_s)
        return {opened[future]: future.result() for future in done}
    finally:
        # Do not wait for threads that are still running: their requests end at the same deadline.
        pool.shutdown(wait=False, cancel_futures=True)
