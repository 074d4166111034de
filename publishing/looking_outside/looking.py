"""One look at all that is outside of a letter: its sender's domain and its links, at once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from delivery.log_ids import inherited
from publishing.looking_outside import keeping
from publishing.looking_outside.looking_up_a_domain import look_up_domain
from publishing.looking_outside.name_servers import NameServers
from publishing.looking_outside.opening_a_link import LinkOpener
from publishing.looking_outside.opening_links import open_links


def look(domain: str, links: Sequence[str], servers: NameServers, opener: LinkOpener) -> None:
    """
    Look at what nobody looked at lately, and keep what was found.

    An empty `domain` is not looked up. No transaction is open meanwhile, and the tables are left to
    the thread that asks.
    """
    known = keeping.fresh(domain, links)
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
        keeping.keep_domain(found)
    keeping.keep_links(answers)


def as_it_runs() -> tuple[NameServers, LinkOpener]:
    """The name servers of this machine, and an opener that connects to public addresses alone."""
    servers = NameServers()
    return servers, LinkOpener(servers)
