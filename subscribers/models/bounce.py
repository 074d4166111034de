"""Bounces: mail that bounced or was marked as spam, as the provider reported."""

from django.db import models
from django.db.models import Q

from subscribers.models.constraints import unconstrained_key


class Bounce(models.Model):
    """One bounce, stored once. `type` is the provider's word, such as `HardBounce`."""

    id = models.BigAutoField(primary_key=True)
    provider_id = models.CharField(max_length=40, null=True)  # a number of many digits
    subscriber = unconstrained_key("subscribers.Subscriber", related_name="bounces")
    type = models.CharField(max_length=40)
    inactive = models.BooleanField()  # the provider refuses more mail
    at = models.DateTimeField()
    description = models.TextField(blank=True, db_default="")
    # The delivery; null if the provider did not report it.
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
