"""One look at all that is outside of a letter: its sender's domain and its links, at once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from delivery.log_context import inherited
from publishing.external_checks import cached_results
from publishing.external_checks.dns import look_up_domain
from publishing.external_checks.dns_queries import NameServers
from publishing.external_checks.links import open_links
from publishing.external_checks.open_link import LinkOpener


def look(domain: str, links: Sequence[str], servers: NameServers, opener: LinkOpener) -> None:
    """
    Look at what nobody looked at lately, and keep what was found.

    An empty `domain` is not looked up. No transaction is open meanwhile, and the tables are left to
    the thread that asks.
    """
    known = cached_results.fresh(domain, links)
    # What nobody answered is asked again at once.
    left = [address for address in links if not known.has_answer_of(address)]
    with ThreadPoolExecutor(1, thread_name_prefix="outside") as pool:
        asked = (
            pool.submit(inherited(look_up_domain), domain, servers)
            if domain and not (known.domain and known.domain.is_known)
            else None
        )
        answers = open_links(left, opener) if left else {}
        found = asked.result() if asked else None
    if found is not None:
        cached_results.keep_domain(found)
    cached_results.keep_links(answers)


def as_it_runs() -> tuple[NameServers, LinkOpener]:
    """The name servers of this machine, and an opener that connects to public addresses alone."""
    servers = NameServers()
    return servers, LinkOpener(servers)
