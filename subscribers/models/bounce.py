"""A bounce: mail that came back or was called spam, as the provider reported."""

from django.db import models
from django.db.models import Q

from subscribers.models.constraints import unconstrained_key


class Bounce(models.Model):
    """One bounce, kept once. `type` is the provider's word (`HardBounce`, `SoftBounce` …)."""

    id = models.BigAutoField(primary_key=True)
    provider_id = models.CharField(max_length=40, null=True)  # large
    subscriber = unconstrained_key("subscribers.Subscriber", related_name="bounces")
    type = models.CharField(max_length=40)
    inactive = models.BooleanField()  # the provider mails it no more
    at = models.DateTimeField()
    description = models.TextField(blank=True, db_default="")
    # Which copy it was; null where the provider did not tell.
    issue_id = models.UUIDField(null=True)
    version = models.PositiveIntegerField(null=True)

    class Meta:
        db_table = "bounce"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                name="a_bounce_is_kept_once",
                fields=["provider_id"],
                condition=Q(provider_id__isnull=False),
            )
        ]
