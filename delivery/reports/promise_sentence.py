"""What Homing promises with the configured provider, in one sentence."""

from django.utils.translation import gettext as _

from delivery.humanise import duration
from delivery.provider.from_settings import capabilities


def promise_sentence() -> str:
    """Say what happens to a copy whose answer is lost (docs/guarantees.md)."""
    can = capabilities()
    if can.can_be_asked:
        sentence = _("If an answer is lost, Homing asks {provider} before it sends a copy again.")
    elif can.repeats_with_key:
        sentence = _(
            "It cannot be asked what it accepted. If an answer is lost, Homing repeats the call; "
            "for {time}, this sends nothing twice. After that, an author decides about these "
            "copies."
        )
    elif can.path:
        sentence = _(
            "It cannot be asked what it accepted. If an answer is lost, Homing waits for its "
            "reports. An author decides about a copy without a report."
        )
    else:
        sentence = _(
            "It cannot be asked what it accepted. If an answer is lost, an author decides about "
            "these copies. Homing does not read bounces: they go to the sender’s mailbox or stay "
            "with the provider."
        )
    return sentence.format(provider=can.name, time=duration(can.key_lifetime_s))
