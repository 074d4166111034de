"""Whether a service calls a bounce permanent, or refuses an address itself.

The words are from the services' documentation of webhooks.
"""

import re
from collections.abc import Mapping

from delivery.django_mail.classify_smtp import Stage, classify_reply
from delivery.rules.outcomes import Failed

Words = Mapping[str, str]

# The fields of a service's own event that say more than Anymail's event. A star is any name.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "amazon_ses": ("bounce.bounceType", "bounce.bounceSubType", "complaint.complaintFeedbackType"),
    "brevo": ("event",),
    "mailersend": ("data.type",),
    "mailgun": (
        "event-data.reason",
        "event-data.delivery-status.code",
        "event-data.delivery-status.enhanced-code",
        "code",
    ),
    "mailjet": ("event", "error", "hard_bounce"),
    "mailtrap": ("event", "bounce_category"),
    "mandrill": ("event", "reject.reason", "msg.reject.reason"),
    "postal": ("payload.status",),
    "resend": ("data.bounce.type", "data.bounce.subType"),
    "sendgrid": ("event", "type", "reason"),
    "sparkpost": ("msys.*.bounce_class",),
    "unisender_go": ("status", "delivery_info.delivery_status"),
}
# The words by which a service calls a bounce permanent, by their field.
HARD: Mapping[str, Mapping[str, frozenset[str]]] = {
    "amazon_ses": {"bounce.bounceType": frozenset({"permanent"})},
    "brevo": {"event": frozenset({"hard_bounce", "invalid_email"})},
    "mailersend": {"data.type": frozenset({"hard_bounced"})},
    "mailgun": {"event-data.reason": frozenset({"bounce"})},
    "mailjet": {"hard_bounce": frozenset({"true"})},
    "mailtrap": {"event": frozenset({"bounce"})},
    "mandrill": {"event": frozenset({"hard_bounce"})},
    "resend": {"data.bounce.type": frozenset({"permanent"})},
    "sendgrid": {"type": frozenset({"bounce"})},
    "sparkpost": {"msys.*.bounce_class": frozenset({"10", "30", "90"})},
    "unisender_go": {"status": frozenset({"hard_bounced"})},
}
# Unisender Go calls every final failure a hard bounce. These words are about the letter, or about
# a fault that may pass.
NOT_PERMANENT = frozenset(
    {
        *("err_mailbox_full", "err_too_large", "err_skip_letter", "err_delivery_failed"),
        *("err_spam_rejected", "err_spam_skipped", "err_blacklisted", "err_lost"),
        *("err_unreachable", "err_destination_misconfigured"),
    }
)
# Why a service itself refuses an address, by the words of its events.
LISTED: Mapping[str, Words] = {
    "mailgun": {
        "suppress-bounce": "HardBounce",
        "suppress-complaint": "SpamComplaint",
        "suppress-unsubscribe": "Unsubscribe",
        "605": "HardBounce",
        "606": "Unsubscribe",
        "607": "SpamComplaint",
    },
    "mailjet": {
        **dict.fromkeys(("user unknown", "invalid domain", "no mail host"), "HardBounce"),
        "mailbox inactive": "HardBounce",
        "spam reporter": "SpamComplaint",
    },
    "mandrill": {
        "hard-bounce": "HardBounce",
        "spam": "SpamComplaint",
        "unsub": "Unsubscribe",
    },
    "sendgrid": {
        **dict.fromkeys(("bounced address", "invalid"), "HardBounce"),
        "spam reporting address": "SpamComplaint",
        "unsubscribed address": "Unsubscribe",
    },
    "unisender_go": {"err_unsubscribed": "Unsubscribe"},
}
# These services report their own refusals as bounces.
LISTED_AS_BOUNCES = frozenset({"mailgun", "unisender_go"})
# A code and the text after it. Some services repeat the code.
_REPLY = re.compile(r"\b([45]\d\d)(?:[ -]+\1)*[ -](.*)")


def why_listed(service: str, kind: str, words: Words, text: str) -> str:
    """Return why the service itself refuses the address; empty if it does not."""
    if kind == "bounced" and service not in LISTED_AS_BOUNCES:
        return ""
    listed = LISTED.get(service, {})
    reasons = (listed[word] for word in words.values() if word in listed)
    is_permanent = kind == "rejected" and is_hard(service, words, text)
    return next(reasons, "HardBounce" if is_permanent else "")


def is_hard(service: str, words: Words, text: str) -> bool:
    """Return whether the service says that the address takes no mail at all."""
    is_named = any(words.get(name) in hard for name, hard in HARD.get(service, {}).items())
    match service:
        case "mailgun":
            # Anymail calls a bounce with the severity “temporary” deferred.
            codes = [words[name] for name in FIELDS[service] if "code" in name and name in words]
            return is_named or refuses_the_address(" ".join([*codes, text]))
        case "resend" if "data.bounce.type" not in words:
            return "hard bounce" in text
        case "unisender_go":
            return is_named and words.get("delivery_info.delivery_status") not in NOT_PERMANENT
    return is_named


def refuses_the_address(text: str) -> bool:
    """Return whether the reply of a mail server in this text is about the recipient."""
    reply = _REPLY.search(text)
    result = classify_reply(Stage.RECIPIENT, int(reply[1]), reply[2]) if reply else None
    return isinstance(result, Failed) and result.refused
