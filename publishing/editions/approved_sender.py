"""The sender that a second person approved, for editions that start later."""

from delivery.models import Edition, Newsletter


def sender_lines(newsletter: Newsletter) -> str:
    """Write the sender, reply address and name, which are read when a mail is sent."""
    return "\n".join((newsletter.sender, newsletter.reply_to, newsletter.name))


def is_outdated(edition: int) -> bool:
    """Whether a required approval was given for another sender."""
    newsletter = Newsletter.objects.get_current()
    approved = Edition.objects.values_list("approved_sender", flat=True).get(pk=edition)
    return newsletter.second_person and bool(approved) and approved != sender_lines(newsletter)
