"""The domain that mail is sent from, as its name servers said when it was last looked at."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django.conf import settings

from delivery.humanise import clock_and_day
from delivery.reports.health import HealthLine
from publishing.external_checks.domain_records import DnsStatus, DomainRecords, domain_of
from publishing.models import ExternalCheck
from publishing.preflight.link_address import is_placeholder

NAME = "Sender domain"


def load_line(now: datetime, zone: ZoneInfo) -> HealthLine:
    """The domain's line. A missing DKIM key is no fault: nobody can guess its name at Postmark."""
    domain = domain_of(settings.FROM_EMAIL)
    if is_placeholder(domain):
        more = f"nobody can own {domain}; an operator sets FROM_EMAIL to an address of your own"
        return HealthLine(NAME, "waiting", "calm", "One for examples", more)
    check = ExternalCheck.objects.filter(kind=ExternalCheck.Kind.DOMAIN, subject=domain).first()
    if check is None:
        more = f"{domain} is looked at when an issue is checked before it is published"
        return HealthLine(NAME, "waiting", "calm", "Not looked at yet", more)
    found = DomainRecords.from_json(check.found)
    at = f"{domain}, looked at {clock_and_day(check.looked_at, now, zone)}"
    if found.texts.status is DnsStatus.NO_SUCH_NAME:
        return HealthLine(NAME, "attention", "fault", "There is no such domain", at)
    if not found.dkim.is_known:
        return HealthLine(NAME, "unknown", "doubt", "No name server answered", at)
    if not found.has_dkim_key:
        key = "Postmark’s key usually stands under a name that cannot be guessed"
        more = f"{key}; {_dmarc(found)}; {at}"
        return HealthLine(NAME, "waiting", "calm", "DKIM is not known", more)
    return HealthLine(NAME, "sent", "sent", "DKIM is found", f"{_dmarc(found)}; {at}")


def _dmarc(found: DomainRecords) -> str:
    if not found.dmarc.is_known:
        return "no name server answered for DMARC"
    match len(found.dmarc_records):
        case 0:
            return "there is no DMARC record"
        case 1:
            return f"DMARC is “{found.dmarc_policy}”"
        case several:
            return f"there are {several} DMARC records, and receivers ignore them all"
