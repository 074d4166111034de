"""An acceptance, recorded as if by another process."""

from delivery.models import Delivery, Evidence


def put_on_record(
    copy: Delivery, message_id: str, source: Evidence.Source = Evidence.Source.WEBHOOK
) -> None:
    """Record that Postmark accepted this copy under `message_id`, and nothing else."""
    Evidence.objects.create(
        provider_message_id=message_id,
        issue_id=copy.issue_id,
        recipient_id=copy.recipient_id,
        version=copy.version,
        source=source,
    )
