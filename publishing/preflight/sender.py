"""
The domain in whose name the mail goes out: SPF, DKIM, DMARC. Pure.

It says what is known and no more. Postmark's DKIM key stands under a name with a date in it, which
nobody can guess; that none was found is therefore not that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from delivery.humanise import enumerated
from publishing.external_checks.domain_records import DomainRecords, Said
from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, Where, advice, in_order, not_known
from publishing.preflight.link_address import is_for_examples

_POSTMARK = "mtasv.net"
_POLICIES = {"quarantine": "puts forgeries aside", "reject": "has forgeries refused"}


def of_the_sender(facts: Facts) -> Iterator[Finding]:
    """Everything about the sender's domain."""
    domain = facts.sender_domain
    if is_for_examples(domain):
        yield advice(
            f"The sender's domain {domain} is one for examples",
            "Nobody can own it, so no provider sends in its name. An operator sets FROM_EMAIL to "
            "an address of your own.",
        )
        return
    found = facts.domain
    if found is None or facts.domain_looked_at is None:
        yield not_known(f"The records of {domain} have not been looked up yet")
        return
    when = f"Looked up at {facts.clock(facts.domain_looked_at)}."
    if Said.NO_SUCH_NAME is found.texts.said:
        yield advice(
            f"There is no domain {domain}",
            f"The name servers do not know it, so receivers refuse mail from it. {when}",
            Where.DNS,
        )
        return
    asked = {
        "SPF": found.texts.is_known and found.return_path.is_known,
        "DKIM": found.dkim.is_known,
        "DMARC": found.dmarc.is_known,
    }
    unanswered = [name for name, known in asked.items() if not known]
    if unanswered:
        yield not_known(
            f"{enumerated(unanswered)} of {domain} could not be looked up",
            f"No name server answered. {when}",
        )
    if asked["SPF"]:
        yield from _spf(found, when)
    if asked["DKIM"]:
        yield from _dkim(found, when)
    if asked["DMARC"]:
        yield from _dmarc(found, when)


def _spf(found: DomainRecords, when: str) -> Iterator[Finding]:
    policies = [text for text in found.texts.values if _is_spf(text)]
    own_path = any(alias.rstrip(".").endswith(_POSTMARK) for alias in found.return_path.values)
    if len(policies) > 1:
        yield advice(
            f"{found.domain} has {len(policies)} SPF records",
            f"There may be one; with more, receivers take SPF for failed. {when}",
            Where.DNS,
            examples=tuple(policies),
        )
    elif any({"all", "+all"} & set(text.lower().split()) for text in policies):
        yield advice(
            f"SPF of {found.domain} lets everybody send in its name",
            f"It ends in “all”; “~all” or “-all” says that nobody else does. {when}",
            Where.DNS,
            examples=tuple(policies),
        )
    elif own_path:
        yield in_order(f"SPF passes: the return path of {found.domain} leads to Postmark.")
    elif any(_POSTMARK in text.lower() for text in policies):
        yield in_order(f"SPF of {found.domain} names Postmark.")
    elif policies:
        yield advice(
            f"SPF of {found.domain} does not name Postmark",
            "Its mail passes SPF under Postmark's own domain, which counts nothing for yours; a "
            "return path of your own at Postmark, usually pm-bounces, makes it count. If yours "
            f"stands under another name, all is well. {when}",
            Where.DNS,
            examples=tuple(policies),
        )
    else:
        yield advice(
            f"{found.domain} has no SPF record and no return path at pm-bounces",
            "Its mail passes SPF under Postmark's own domain, which counts nothing for yours. If "
            f"your return path stands under another name, all is well. {when}",
            Where.DNS,
        )


def _dkim(found: DomainRecords, when: str) -> Iterator[Finding]:
    if found.has_dkim_key:
        yield in_order(f"DKIM has a key at pm._domainkey.{found.domain}.")
        return
    yield not_known(
        f"Whether mail from {found.domain} is signed (DKIM) could not be seen",
        "Postmark's key usually stands under a name with a date in it, which cannot be guessed; "
        "there is none at pm._domainkey. Postmark shows under Sender Signatures whether it is "
        f"verified. {when}",
    )


def _dmarc(found: DomainRecords, when: str) -> Iterator[Finding]:
    policies = found.dmarc_records
    if not policies:
        yield advice(
            f"{found.domain} has no DMARC record",
            "Large mailboxes ask it of whoever sends to many, and put mail aside without it. A "
            f"text “v=DMARC1; p=none” at _dmarc.{found.domain} is a beginning. {when}",
            Where.DNS,
        )
        return
    if len(policies) > 1:
        yield advice(
            f"{found.dmarc_at} has {len(policies)} DMARC records",
            f"There may be one; receivers ignore them all. {when}",
            Where.DNS,
            examples=policies,
        )
        return
    policy = found.dmarc_policy
    if policy in _POLICIES:
        yield in_order(f"DMARC of {found.dmarc_at} {_POLICIES[policy]} ({policy}).")
    else:
        yield advice(
            f"DMARC is “{policy}” for {found.domain}",
            f"Mail arrives, but nobody is told to refuse forgeries. {when}",
            Where.DNS,
        )


def _is_spf(text: str) -> bool:
    return text.lower() == "v=spf1" or text.lower().startswith("v=spf1 ")
