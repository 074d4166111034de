"""What is known of an acceptance, written down as another hand would write it."""

from delivery.models import Delivery, Evidence


def put_on_record(
    copy: Delivery, message_id: str, source: Evidence.Source = Evidence.Source.WEBHOOK
) -> None:
    """That Postmark accepted this copy under `message_id`, and nothing beside it."""
    Evidence.objects.create(
        provider_message_id=message_id,
        issue_id=copy.issue_id,
        recipient_id=copy.recipient_id,
        version=copy.version,
        source=source,
    )
