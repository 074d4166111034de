"""Suppressions (addresses that must not be mailed), and reported bounces."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now

from delivery.models.shared_columns import ChoiceField
from subscribers.models.constraints import checks, unconstrained_key

# RFC 5321 4.5.3.1.3: a path has at most 256 octets, two of them for the angle brackets.
LONGEST_ADDRESS = 254


class Suppression(models.Model):
    """An address that gets no mail, whether it is a reader's address or not.

    Addresses are compared byte by byte (collation C), so new collations of the operating system
    cannot break the index. The words that pages show for the reasons are in
    `suppression_sentences.py`.
    """

    class Reason(models.TextChoices):
        BOUNCE = "bounce", "mail to it bounces"
        COMPLAINT = "complaint", "its owner marked a letter as spam"
        UNSUBSCRIBE = "unsubscribe", "its owner unsubscribed on the provider's page"
        MANUAL = "manual", "an author or operator blocked it"

    class Origin(models.TextChoices):
        PROVIDER = "provider"
        OPERATOR = "operator"
        IMPORT = "import"

    class LiftedHow(models.TextChoices):
        PROVIDER = "provider"
        AUTHOR = "author"

    id = models.BigAutoField(primary_key=True)
    address_key = models.CharField(max_length=LONGEST_ADDRESS, db_collation="C")
    reason = ChoiceField(max_length=11, choices=Reason)
    origin = ChoiceField(max_length=8, choices=Origin)
    created_at = models.DateTimeField(db_default=Now())
    at = models.DateTimeField(db_default=Now())
    # When the provider last reported this suppression, by the provider's clock; null if no report
    # was recorded.
    reported_at = models.DateTimeField(null=True, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    # Empty if an opt-in lifted the suppression, or if an operator ended the block.
    lifted_how = ChoiceField(max_length=8, choices=LiftedHow, blank=True, default="", db_default="")
    lifted_by = unconstrained_key(
        "subscribers.ConsentRecord", db_index=False, null=True, blank=True, related_name="+"
    )

    class Meta:
        db_table = "suppression"
        constraints = [
            models.UniqueConstraint(name="one_suppression_per_address", fields=["address_key"]),
            *checks(
                a_suppressed_address_is_case_folded=Q(address_key=Lower(F("address_key"))),
                suppression_reason_is_known=Q(
                    reason__in=["bounce", "complaint", "unsubscribe", "manual"]
                ),
                suppression_origin_is_known=Q(origin__in=["provider", "operator", "import"]),
            ),
        ]


class Bounce(models.Model):
    """One bounce, stored once. `type` is the provider's word, such as `HardBounce`."""

    id = models.BigAutoField(primary_key=True)
    # The provider's id is a number with many digits.
    provider_id = models.CharField(max_length=40, null=True)
    subscriber = unconstrained_key("subscribers.Subscriber", related_name="bounces")
    type = models.CharField(max_length=40)
    inactive = models.BooleanField()  # true if the provider now refuses mail to the address
    at = models.DateTimeField()
    description = models.TextField(blank=True, db_default="")
    # The delivery that bounced; null if the provider did not say which delivery it was.
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
