"""Results of external checks: a domain's records, a link."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class ExternalCheck(models.Model):
    """The latest result about one subject, kept so that pages need not wait for it."""

    class Kind(models.TextChoices):
        """What was looked at."""

        DOMAIN = "domain", "the records of a sender's domain"
        LINK = "link", "where a link in a letter leads"

    kind = models.CharField(max_length=10, choices=Kind)
    subject = models.TextField(help_text="The domain or the address.")
    found = models.JSONField()
    looked_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "external_check"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                name="one_external_check_per_subject", fields=["kind", "subject"]
            ),
            models.CheckConstraint(
                name="external_check_kind_is_known", condition=Q(kind__in=["domain", "link"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
