"""What the provider's own suppression list says about an address, as far as we were told."""

from __future__ import annotations

from django.db import models


class ProviderSuppression(models.Model):
    """
    The last that was told of one address on one stream, by the provider's clock.

    It decides nothing: whom we mail is decided by our own list. It tells a person why the provider
    refuses an address, or that it no longer does.
    """

    id = models.BigAutoField(primary_key=True)
    address_key = models.CharField(max_length=254, db_collation="C")
    stream = models.CharField(max_length=100)
    refuses = models.BooleanField(help_text="False: it was lifted; the provider mails it again.")
    reason = models.CharField(max_length=40, blank=True)
    origin = models.CharField(max_length=40, blank=True)
    at = models.DateTimeField()

    class Meta:
        db_table = "provider_suppression"
        constraints = [
            models.UniqueConstraint(
                name="one_word_of_the_provider_per_address", fields=["address_key", "stream"]
            )
        ]

    def __str__(self) -> str:
        return f"{'refused' if self.refuses else 'taken again'} on {self.stream}"
