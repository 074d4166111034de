"""The health line of the sender domain, from the last DNS look-up."""

from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import clock_and_day, counted
from delivery.models import Newsletter
from delivery.reports.sending_health import HealthLine
from publishing.external_checks.domain_records import DnsStatus, DomainRecords, domain_of
from publishing.models import ExternalCheck
from publishing.preflight.link_address import is_placeholder

NAME = gettext_lazy("Sender domain")


def load_line(newsletter: Newsletter, now: datetime) -> HealthLine:
    """Return the health line.

    A DKIM key that was not found is no fault, because the name of Postmark's key cannot be guessed.
    """
    domain = domain_of(newsletter.sender)
    if is_placeholder(domain):
        more = _("{domain} is a placeholder. Set your own sender under Settings")
        state = _("Placeholder")
        return HealthLine(str(NAME), "waiting", "calm", state, more.format(domain=domain))
    check = ExternalCheck.objects.filter(kind=ExternalCheck.Kind.DOMAIN, subject=domain).first()
    if check is None:
        more = _("{domain} is checked when you check an issue before publishing")
        state = _("Not checked yet")
        return HealthLine(str(NAME), "waiting", "calm", state, more.format(domain=domain))
    found = DomainRecords.from_json(check.found)
    at = _("{domain}, checked at {time}").format(
        domain=domain, time=clock_and_day(check.looked_at, now, newsletter.zone)
    )
    if found.texts.status is DnsStatus.NO_SUCH_NAME:
        return HealthLine(str(NAME), "attention", "fault", _("The domain does not exist"), at)
    if not found.dkim.is_known:
        return HealthLine(str(NAME), "unknown", "doubt", _("No name server answered"), at)
    if not found.has_dkim_key:
        key = _("Postmark’s key usually has a name that cannot be guessed")
        more = f"{key}; {_dmarc(found)}; {at}"
        return HealthLine(str(NAME), "waiting", "calm", _("DKIM unknown"), more)
    return HealthLine(str(NAME), "sent", "sent", _("DKIM found"), f"{_dmarc(found)}; {at}")


def _dmarc(found: DomainRecords) -> str:
    if not found.dmarc.is_known:
        return _("no name server answered for DMARC")
    number = len(found.dmarc_records)
    if not number:
        return _("no DMARC record")
    if number == 1:
        return _("DMARC is “{policy}”").format(policy=found.dmarc_policy)
    return counted(
        "{n} DMARC record, which receivers ignore",
        "{n} DMARC records, which receivers ignore",
        number,
    )
