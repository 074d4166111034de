"""Postmark's bounce types, and addresses that trigger an event.

The form `<type>@bounce-testing.postmarkapp.com` also works at Postmark; `<type>@bounce.example`
works only in the sandbox. A `+label` before the `@` is ignored, so tests can use any number of
addresses for each type.
"""

from dataclasses import dataclass
from enum import Enum

from postmark_sandbox.rules.addresses import domain_of

POSTMARK_DOMAIN = "bounce-testing.postmarkapp.com"
OWN_DOMAIN = "bounce.example"
BLACKHOLE_DOMAIN = "blackhole.postmarkapp.com"
MAGIC_DOMAINS = frozenset({POSTMARK_DOMAIN, OWN_DOMAIN, BLACKHOLE_DOMAIN})


@dataclass(frozen=True, slots=True)
class BounceType:
    """A row of Postmark's table of bounce types.

    If `inactive` is true, Postmark stops sending to the address.
    """

    type: str
    code: int
    name: str
    description: str
    inactive: bool = False


_ROWS = (
    ("HardBounce", 1, "Hard bounce", "The mailbox does not exist or accepts no mail.", True),
    ("Transient", 2, "Message delayed", "Not accepted yet; Postmark retries."),
    ("Unsubscribe", 16, "Unsubscribe request", "Unsubscribe request by mail."),
    ("Subscribe", 32, "Subscribe request", "Subscribe request by mail."),
    ("AutoResponder", 64, "Auto responder", "Automatic reply."),
    ("AddressChange", 128, "Address change", "The reader has a new address."),
    ("DnsError", 256, "DNS error", "The domain could not be looked up."),
    ("SpamNotification", 512, "Spam notification", "The message was reported as spam."),
    ("OpenRelayTest", 1024, "Open relay test", "A test for open relays."),
    ("Unknown", 2048, "Unknown", "The reply could not be read."),
    ("SoftBounce", 4096, "Soft bounce", "The mailbox is full or busy."),
    ("VirusNotification", 8192, "Virus notification", "The message was reported as a virus."),
    ("ChallengeVerification", 16384, "Challenge", "The sender must verify themselves."),
    ("BadEmailAddress", 100000, "Invalid email address", "The address is invalid.", True),
    ("SpamComplaint", 100001, "Spam complaint", "The reader marked it as spam.", True),
    ("ManuallyDeactivated", 100002, "Manually deactivated", "Deactivated manually.", True),
    ("Unconfirmed", 100003, "Registration not confirmed", "Never confirmed."),
    ("Blocked", 100006, "ISP block", "The provider blocks this sender."),
    ("SMTPApiError", 100007, "SMTP API error", "Refused by the SMTP API."),
    ("InboundError", 100008, "Processing failed", "Inbound mail was not accepted."),
    ("DMARCPolicy", 100009, "DMARC policy", "Refused by the domain's policy."),
    ("TemplateRenderingFailed", 100010, "Template rendering failed", "The template has no text."),
)
BOUNCE_TYPES = {row[0].lower(): BounceType(*row) for row in _ROWS}
HARD_BOUNCE = BOUNCE_TYPES["hardbounce"]
SPAM_COMPLAINT = BOUNCE_TYPES["spamcomplaint"]
# Words before `@bounce.example` that are not names of bounce types.
OWN_WORDS = {"complaint": "spamcomplaint", "bounce": "hardbounce"}


class EventType(Enum):
    """Kinds of events, which a magic address causes or somebody asks for."""

    DELIVERED = "delivered"
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    UNSUBSCRIBED = "unsubscribe"
    DROPPED = "dropped"
    INVALID = "invalid"
    INACTIVE = "inactive"
    REACTIVATED = "reactivated"


def is_black_hole(address: str) -> bool:
    """Return whether mail to this address is accepted but never delivered."""
    return domain_of(address) == BLACKHOLE_DOMAIN


def event_type_of(address: str, header: str | None = None) -> tuple[EventType, BounceType | None]:
    """Return the event for an address; `header` is `X-PM-Bounce-Type`."""
    domain = domain_of(address)
    if domain not in MAGIC_DOMAINS:
        return EventType.DELIVERED, None
    if is_black_hole(address):
        return EventType.DROPPED, None
    word = address.rpartition("@")[0].partition("+")[0].lower().replace("_", "").replace("-", "")
    if domain == POSTMARK_DOMAIN:
        # Postmark reads the header `X-PM-Bounce-Type` only for addresses of this domain.
        found = BOUNCE_TYPES.get((header or word).lower().replace("_", ""), HARD_BOUNCE)
        # Postmark's bounce domain makes no complaints: it makes a hard bounce instead.
        return EventType.BOUNCED, HARD_BOUNCE if found is SPAM_COMPLAINT else found
    if word in ("invalid", "inactive", "unsubscribe"):
        return EventType(word), None
    own = BOUNCE_TYPES.get(OWN_WORDS.get(word, word))
    outcomes = {None: EventType.DELIVERED, SPAM_COMPLAINT: EventType.COMPLAINED}
    return outcomes.get(own, EventType.BOUNCED), own
