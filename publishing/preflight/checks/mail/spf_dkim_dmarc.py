"""Check SPF, DKIM and DMARC of the sender's domain.

A failed search for a DKIM key proves nothing, because Homing can only guess the name of the
provider's key.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from delivery.interface import capabilities, provider_name
from publishing.external_checks.cached_results import CachedResults
from publishing.external_checks.domain_records import DnsStatus, DomainRecords, domain_of
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice, passed, unknown
from publishing.preflight.link_address import is_placeholder


def check(context: CheckContext) -> Iterator[Finding]:
    """Find problems with the sender's domain."""
    yield from check_domain(domain_of(context.sender), context.external, context.clock)


def check_domain(
    domain: str, external: CachedResults, clock: Callable[[datetime], str]
) -> Iterator[Finding]:
    """Find problems with the records of a domain; `clock` turns times into texts."""
    found = external.domain
    if is_placeholder(domain):
        yield advice(
            _("{domain} is a placeholder. Set your own sender"),
            _(
                "No provider sends from this domain. Your sender needs an address of your own "
                "domain."
            ),
            FixIn.SENDER,
            domain=domain,
        )
        return
    if found is None or external.domain_at is None:
        yield unknown(_("The records of {domain} have not been looked up yet"), domain=domain)
        return
    facts = {
        "domain": domain,
        "name": found.dmarc_at,
        "at": clock(external.domain_at),
        "provider": provider_name(),
    }
    if found.texts.status is DnsStatus.NO_SUCH_NAME:
        yield advice(
            _("The domain {domain} does not exist"),
            _("Receivers refuse mail from it. Checked: {at}."),
            **facts,
        )
        return
    answered = {
        "SPF": found.texts.is_known and found.return_path.is_known,
        "DKIM": found.dkim.is_known,
        "DMARC": found.dmarc.is_known,
    }
    if failed := [name for name, is_known in answered.items() if not is_known]:
        yield unknown(
            _("{records} of {domain} could not be looked up"),
            _("No name server answered. Checked: {at}."),
            records=get_text_list(failed, _("and")),
            **facts,
        )
    for is_known, find in zip(answered.values(), (_spf, _dkim, _dmarc), strict=True):
        if is_known:
            yield find(found, facts)


def _spf(found: DomainRecords, facts: Mapping[str, str]) -> Finding:
    policies = tuple(text for text in found.texts.values if _is_spf(text))
    if len(policies) > 1:
        return advice(
            ngettext_lazy(
                "{domain} has {count} SPF record", "{domain} has {count} SPF records", "count"
            ),
            _("Only one SPF record is allowed. With more, SPF fails. Checked: {at}."),
            examples=policies,
            count=len(policies),
            **facts,
        )
    if any({"all", "+all"} & set(text.lower().split()) for text in policies):
        return advice(
            _("SPF of {domain} lets everybody send in its name"),
            _(
                "The SPF record ends in “all”. Use “~all” or “-all” to exclude other senders. "
                "Checked: {at}."
            ),
            examples=policies,
            **facts,
        )
    wanted = capabilities().sender_records
    if wanted is None:
        if policies:
            return passed(_("{domain} has one SPF record."), **facts)
        return advice(
            _("{domain} has no SPF record"),
            _("Set the record that {provider} asks for. Look at its own pages. Checked: {at}."),
            **facts,
        )
    if any(alias.rstrip(".").endswith(wanted.spf) for alias in found.return_path.values):
        return passed(_("SPF passes: the return path of {domain} leads to {provider}."), **facts)
    if any(wanted.spf in text.lower() for text in policies):
        return passed(_("SPF of {domain} names {provider}."), **facts)
    return advice(
        _("SPF of {domain} does not name {provider}")
        if policies
        else _("{domain} has no SPF record and no return path at {return_path}"),
        _(
            "SPF passes only for {provider}'s domain, not for yours, until you set a return path at"
            " {provider} (usually {return_path}). Ignore this if your return path has another name."
            " Checked: {at}."
        ),
        examples=policies,
        return_path=wanted.return_path,
        **facts,
    )


def _dkim(found: DomainRecords, facts: Mapping[str, str]) -> Finding:
    wanted = capabilities().sender_records
    cannot_see = _("Homing cannot see whether mail from {domain} is signed (DKIM)")
    if wanted is None:
        detail = _("{provider} does not say which key it uses. Look at its own pages.")
        return unknown(cannot_see, detail, **facts)
    if found.has_dkim_key:
        return passed(_("DKIM has a key at {dkim}.{domain}."), dkim=wanted.dkim, **facts)
    return unknown(
        cannot_see,
        _(
            "The name of {provider}'s key usually contains a date, so Homing cannot find it. There "
            "is none at {dkim}. Look in {provider} under {page}. Checked: {at}."
        ),
        dkim=wanted.dkim,
        page=wanted.page,
        **facts,
    )


def _dmarc(found: DomainRecords, facts: Mapping[str, str]) -> Finding:
    records = found.dmarc_records
    if not records:
        return advice(
            _("{domain} has no DMARC record"),
            _(
                "Large mail providers require a DMARC record from newsletters and may treat mail "
                "without one as spam. Start with the text “v=DMARC1; p=none” at _dmarc.{domain}. "
                "Checked: {at}."
            ),
            **facts,
        )
    if len(records) > 1:
        return advice(
            ngettext_lazy(
                "{name} has {count} DMARC record", "{name} has {count} DMARC records", "count"
            ),
            _(
                "Only one DMARC record is allowed. If there are more, receivers ignore all of "
                "them. Checked: {at}."
            ),
            examples=records,
            count=len(records),
            **facts,
        )
    if found.dmarc_policy == "quarantine":
        asks = _("DMARC of {name} asks receivers to put forgeries in spam (quarantine).")
        return passed(asks, **facts)
    if found.dmarc_policy == "reject":
        return passed(_("DMARC of {name} asks receivers to refuse forgeries (reject)."), **facts)
    return advice(
        _("DMARC is “{policy}” for {domain}"),
        _("Mail arrives, but receivers are not asked to refuse forgeries. Checked: {at}."),
        policy=found.dmarc_policy,
        **facts,
    )


def _is_spf(text: str) -> bool:
    return text.lower() == "v=spf1" or text.lower().startswith("v=spf1 ")
