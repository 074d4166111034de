"""Check SPF, DKIM and DMARC of the sender's domain. Pure.

A missing DKIM key proves nothing: Postmark's may have a name that cannot be guessed.
"""

from collections.abc import Iterator
from functools import partial

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from publishing.external_checks.cached_results import CachedResults
from publishing.external_checks.domain_records import DnsStatus, DomainRecords, domain_of
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, FixIn, Texts, advice, passed, unknown
from publishing.preflight.link_address import is_placeholder

_POSTMARK = "mtasv.net"

_RETURN_PATH = _(
    "SPF then passes only for Postmark's domain, not for yours. Set a return path "
    "at Postmark, usually pm-bounces. Ignore this if your return path has another name. "
    "Checked: {at}."
)

TEXTS: Texts = {
    "placeholder_domain": FindingText(
        _("{domain} is a placeholder. Set your own sender"),
        _("No provider sends from this domain. Your sender needs an address of your own domain."),
    ),
    "domain_unchecked": FindingText(_("The records of {domain} have not been looked up yet")),
    "no_such_domain": FindingText(
        _("The domain {domain} does not exist"),
        _("Receivers refuse mail from it. Checked: {at}."),
    ),
    "dns_failed": FindingText(
        _("{records} of {domain} could not be looked up"),
        _("No name server answered. Checked: {at}."),
    ),
    "several_spf": FindingText(
        ngettext_lazy(
            "{domain} has {count} SPF record", "{domain} has {count} SPF records", "count"
        ),
        _("Only one is allowed. With more, SPF fails. Checked: {at}."),
    ),
    "spf_allows_all": FindingText(
        _("SPF of {domain} lets everybody send in its name"),
        _("It ends in “all”. Use “~all” or “-all” to exclude other senders. Checked: {at}."),
    ),
    "spf_return_path": FindingText(_("SPF passes: the return path of {domain} leads to Postmark.")),
    "spf_postmark": FindingText(_("SPF of {domain} names Postmark.")),
    "spf_without_postmark": FindingText(_("SPF of {domain} does not name Postmark"), _RETURN_PATH),
    "no_spf": FindingText(
        _("{domain} has no SPF record and no return path at pm-bounces"), _RETURN_PATH
    ),
    "dkim_key": FindingText(_("DKIM has a key at pm._domainkey.{domain}.")),
    "dkim_unclear": FindingText(
        _("Homing cannot see whether mail from {domain} is signed (DKIM)"),
        _(
            "The name of Postmark's key usually contains a date, so Homing cannot find it. There "
            "is none at pm._domainkey. Look in Postmark under Sender Signatures. Checked: {at}."
        ),
    ),
    "no_dmarc": FindingText(
        _("{domain} has no DMARC record"),
        _(
            "Large mail providers require one from newsletters and may treat mail without it as "
            "spam. Start with the text “v=DMARC1; p=none” at _dmarc.{domain}. Checked: {at}."
        ),
    ),
    "several_dmarc": FindingText(
        ngettext_lazy(
            "{name} has {count} DMARC record", "{name} has {count} DMARC records", "count"
        ),
        _("Only one is allowed. With more, receivers ignore all. Checked: {at}."),
    ),
    "dmarc_quarantine": FindingText(
        _("DMARC of {name} asks receivers to put forgeries in spam (quarantine).")
    ),
    "dmarc_reject": FindingText(_("DMARC of {name} asks receivers to refuse forgeries (reject).")),
    "weak_dmarc": FindingText(
        _("DMARC is “{policy}” for {domain}"),
        _("Mail arrives, but receivers are not asked to refuse forgeries. Checked: {at}."),
    ),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find problems with the sender's domain."""
    yield from check_domain(domain_of(context.sender), context.external)


def check_domain(domain: str, external: CachedResults) -> Iterator[Finding]:
    """Find problems with the records of a domain."""
    found, at = external.domain, external.domain_at
    if is_placeholder(domain):
        yield advice("placeholder_domain", FixIn.SENDER, domain=domain)
        return
    if found is None or at is None:
        yield unknown("domain_unchecked", domain=domain)
        return
    if found.texts.status is DnsStatus.NO_SUCH_NAME:
        yield advice("no_such_domain", domain=domain, at=at)
        return
    answered = {
        "SPF": found.texts.is_known and found.return_path.is_known,
        "DKIM": found.dkim.is_known,
        "DMARC": found.dmarc.is_known,
    }
    if failed := tuple(name for name, is_known in answered.items() if not is_known):
        yield unknown("dns_failed", domain=domain, records=failed, at=at)
    findings = (_spf(found), _dkim(found), _dmarc(found))
    for is_known, finding in zip(answered.values(), findings, strict=True):
        if is_known:
            yield finding(domain=found.domain, at=at)


def _spf(found: DomainRecords) -> partial[Finding]:
    policies = tuple(text for text in found.texts.values if _is_spf(text))
    if len(policies) > 1:
        return partial(advice, "several_spf", examples=policies, count=len(policies))
    if any({"all", "+all"} & set(text.lower().split()) for text in policies):
        return partial(advice, "spf_allows_all", examples=policies)
    if any(alias.rstrip(".").endswith(_POSTMARK) for alias in found.return_path.values):
        return partial(passed, "spf_return_path")
    if any(_POSTMARK in text.lower() for text in policies):
        return partial(passed, "spf_postmark")
    if policies:
        return partial(advice, "spf_without_postmark", examples=policies)
    return partial(advice, "no_spf")


def _dkim(found: DomainRecords) -> partial[Finding]:
    return partial(passed, "dkim_key") if found.has_dkim_key else partial(unknown, "dkim_unclear")


def _dmarc(found: DomainRecords) -> partial[Finding]:
    records = found.dmarc_records
    if not records:
        return partial(advice, "no_dmarc")
    if len(records) > 1:
        return partial(
            advice, "several_dmarc", examples=records, count=len(records), name=found.dmarc_at
        )
    if found.dmarc_policy in ("quarantine", "reject"):
        return partial(passed, f"dmarc_{found.dmarc_policy}", name=found.dmarc_at)
    return partial(advice, "weak_dmarc", policy=found.dmarc_policy)


def _is_spf(text: str) -> bool:
    return text.lower() == "v=spf1" or text.lower().startswith("v=spf1 ")
