"""The rate that all workers share: when the next batch may be claimed, and how fast."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now


class SendRate(models.Model):
    """One row, used while `DELIVERY_RATE_PER_S` sets a ceiling, and after the provider said 429.
    `slowed_to_per_s` is the rate that the last 429 led to, at `slowed_at`, and `too_fast_per_s` the
    fastest that was refused; all are null while nothing slows the workers down."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    next_claim_at = models.DateTimeField(db_default=Now())
    too_fast_per_s = models.FloatField(null=True)
    slowed_to_per_s = models.FloatField(null=True)
    slowed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "send_rate"
        constraints = [
            models.CheckConstraint(name="there_is_one_send_rate", condition=Q(id=1)),
            models.CheckConstraint(
                name="a_slowed_pace_says_how_far_and_since_when",
                condition=Q(
                    too_fast_per_s__isnull=True,
                    slowed_to_per_s__isnull=True,
                    slowed_at__isnull=True,
                )
                | Q(
                    too_fast_per_s__gt=F("slowed_to_per_s"),
                    slowed_to_per_s__gt=0,
                    slowed_at__isnull=False,
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"next claim at {self.next_claim_at}"
