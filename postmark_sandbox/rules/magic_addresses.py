"""The only place for addresses that stand for something that happens to mail.

`<type>@bounce-testing.postmarkapp.com` is Postmark's own; `…@bounce.example` is the sandbox's.
A `+label` before the `@` is passed over, so that there can be as many of each as one likes.
"""

from dataclasses import dataclass
from enum import Enum

from postmark_sandbox.postmark_api.addresses import domain_of

POSTMARK_DOMAIN = "bounce-testing.postmarkapp.com"
OWN_DOMAIN = "bounce.example"
BLACKHOLE_DOMAIN = "blackhole.postmarkapp.com"
MAGIC_DOMAINS = frozenset({POSTMARK_DOMAIN, OWN_DOMAIN, BLACKHOLE_DOMAIN})


@dataclass(frozen=True, slots=True)
class BounceType:
    """A row of Postmark's table of bounces. `inactive`: Postmark sends there no more."""

    type: str
    code: int
    name: str
    description: str
    inactive: bool = False
    can_activate: bool = True


BOUNCE_TYPES = {
    row.type.lower(): row
    for row in (
        BounceType(
            "HardBounce",
            1,
            "Hard bounce",
            "The mailbox does not exist or takes no mail.",
            inactive=True,
        ),
        BounceType("Transient", 2, "Message delayed", "Not taken yet; it is being tried again."),
        BounceType("Unsubscribe", 16, "Unsubscribe request", "Asked by mail to be taken off."),
        BounceType("Subscribe", 32, "Subscribe request", "Asked by mail to be added."),
        BounceType("AutoResponder", 64, "Auto responder", "An automatic answer came back."),
        BounceType("AddressChange", 128, "Address change", "The person has a new address."),
        BounceType("DnsError", 256, "DNS error", "The domain could not be looked up."),
        BounceType("SpamNotification", 512, "Spam notification", "It was called spam."),
        BounceType("OpenRelayTest", 1024, "Open relay test", "A test for open relays."),
        BounceType("Unknown", 2048, "Unknown", "The answer could not be read."),
        BounceType("SoftBounce", 4096, "Soft bounce", "The mailbox is full or busy."),
        BounceType("VirusNotification", 8192, "Virus notification", "It was called a virus."),
        BounceType("ChallengeVerification", 16384, "Challenge", "The sender must prove himself."),
        BounceType(
            "BadEmailAddress", 100000, "Invalid email address", "Not an address.", inactive=True
        ),
        BounceType(
            "SpamComplaint",
            100001,
            "Spam complaint",
            "The reader marked it as spam.",
            inactive=True,
            can_activate=False,
        ),
        BounceType(
            "ManuallyDeactivated",
            100002,
            "Manually deactivated",
            "Deactivated by hand.",
            inactive=True,
        ),
        BounceType("Unconfirmed", 100003, "Registration not confirmed", "Never confirmed."),
        BounceType("Blocked", 100006, "ISP block", "The provider blocks this sender."),
        BounceType("SMTPApiError", 100007, "SMTP API error", "Refused while handing it over."),
        BounceType("InboundError", 100008, "Processing failed", "Inbound mail was not taken."),
        BounceType("DMARCPolicy", 100009, "DMARC policy", "Refused by the domain's policy."),
        BounceType(
            "TemplateRenderingFailed", 100010, "Template rendering failed", "No text to send."
        ),
    )
}
HARD_BOUNCE = BOUNCE_TYPES["hardbounce"]
SPAM_COMPLAINT = BOUNCE_TYPES["spamcomplaint"]

# What the sandbox's own addresses do that is not simply a bounce of that type.
OWN_WORDS = {"complaint": "spamcomplaint", "bounce": "hardbounce"}


class Fate(Enum):
    """What becomes of a message: to a magic address by itself, to any other on request."""

    DELIVERED = "delivered"
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    UNSUBSCRIBED = "unsubscribed"
    DROPPED = "dropped"
    INVALID = "invalid"
    INACTIVE = "inactive"
    REACTIVATED = "reactivated"
    ONE_CLICK = "one_click"


def fate_of(address: str, wanted: str | None = None) -> tuple[Fate, BounceType | None]:
    """What happens to mail for this address. `wanted` is the header `X-PM-Bounce-Type`, which
    Postmark reads for its own bounce domain only."""
    domain = domain_of(address)
    if domain not in MAGIC_DOMAINS:
        return Fate.DELIVERED, None
    word = address.rpartition("@")[0].partition("+")[0].lower().replace("_", "").replace("-", "")
    if domain == BLACKHOLE_DOMAIN:
        return Fate.DROPPED, None
    if domain == POSTMARK_DOMAIN:
        found = BOUNCE_TYPES.get((wanted or word).lower().replace("_", ""), HARD_BOUNCE)
        # Postmark's bounce domain makes no complaints: a hard bounce comes instead.
        return Fate.BOUNCED, HARD_BOUNCE if found is SPAM_COMPLAINT else found
    if word in ("invalid", "inactive"):
        return Fate(word), None
    if word == "unsubscribe":
        return Fate.UNSUBSCRIBED, None
    found_own = BOUNCE_TYPES.get(OWN_WORDS.get(word, word))
    if found_own is None:
        return Fate.DELIVERED, None
    return (Fate.COMPLAINED if found_own is SPAM_COMPLAINT else Fate.BOUNCED), found_own
