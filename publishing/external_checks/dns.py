"""What the name servers say of a sender's domain, all questions at once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from delivery.log_context import inherited
from publishing.external_checks.dns_queries import NameServers
from publishing.external_checks.domain_records import DomainRecords, Records, Said

LONGEST_LOOK_S = 6.0


def look_up_domain(domain: str, servers: NameServers) -> DomainRecords:
    """Ask for SPF, DKIM, the return path and DMARC. It never raises and ends in time."""
    until = time.monotonic() + LONGEST_LOOK_S

    @inherited
    def ask(name: str, kind: str) -> Records:
        return servers.ask(name, kind, until=until)

    with ThreadPoolExecutor(4, thread_name_prefix="domain") as pool:
        texts = pool.submit(ask, domain, "TXT")
        dkim = pool.submit(ask, f"pm._domainkey.{domain}", "TXT")
        return_path = pool.submit(ask, f"pm-bounces.{domain}", "CNAME")
        dmarc = pool.submit(inherited(_dmarc), domain, servers, until)
        policy, dmarc_at = dmarc.result()
        return DomainRecords(
            domain, texts.result(), dkim.result(), return_path.result(), policy, dmarc_at
        )


def _dmarc(domain: str, servers: NameServers, until: float) -> tuple[Records, str]:
    """The policy of the domain, or of the nearest domain above it that has one."""
    labels = domain.split(".")
    nothing = Records(Said.NOTHING)
    for above in range(max(1, len(labels) - 1)):
        place = ".".join(labels[above:])
        found = servers.ask(f"_dmarc.{place}", "TXT", until=until)
        if not found.is_known:
            return found, domain
        if any(text.lower().replace(" ", "").startswith("v=dmarc1") for text in found.values):
            return found, place
    return nothing, domain
