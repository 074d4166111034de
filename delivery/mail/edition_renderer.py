"""The renderer of an edition: the same for what is sent and for previews."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from delivery.mail.message import Envelope, NewsletterRenderer, Renderer, TransactionalRenderer
from delivery.mail.test_letter import mark_subject
from delivery.mail.transactional_mail import KIND_BY_ISSUE, newsletter_values
from delivery.models import Edition, Newsletter


@dataclass(frozen=True, slots=True)
class Links:
    """Where a reader's links lead. `unsubscribe_urls` takes recipients; `transactional_url` a kind
    of mail, a recipient and the version. `handles_unsubscribes` is false where Postmark does."""

    unsubscribe_urls: Callable[[Sequence[int]], Sequence[str]]
    transactional_url: Callable[[str, int, int], str]
    handles_unsubscribes: bool


def renderer_for(
    edition: Edition, newsletter: Newsletter, links: Links, *, sender: str
) -> Renderer:
    """Build the renderer of an edition, with the newsletter's settings of now."""
    is_test = edition.kind == Edition.Kind.TEST
    envelope = Envelope(
        issue=edition.issue_id,
        version=edition.version,
        sender=sender,
        reply_to=newsletter.reply_to,
        stream=edition.stream,
        newsletter=newsletter.name,
        archive_url=edition.archive_url,
        handles_unsubscribes=links.handles_unsubscribes,
        title=mark_subject(edition.title) if is_test else edition.title,
        html_mail=edition.html_mail,
        text_mail=edition.text_mail,
    )
    if edition.issue_id in KIND_BY_ISSUE:
        return TransactionalRenderer(
            envelope,
            values=newsletter_values(newsletter),
            link=lambda recipient: links.transactional_url(
                edition.kind, recipient, edition.version
            ),
        )
    return NewsletterRenderer(envelope, links.unsubscribe_urls)
