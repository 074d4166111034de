"""A signed receipt of a finished edition."""

from django.db import models
from django.db.models.functions import Now


class Receipt(models.Model):
    """What went out, to how many, when. It outlives the deliveries, which may be dropped."""

    edition = models.OneToOneField(
        "delivery.Edition", on_delete=models.CASCADE, related_name="receipt"
    )
    text = models.TextField(help_text="Canonical JSON, as it was signed.")
    signature = models.TextField()
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "receipt"
        default_permissions = ()

    def __str__(self) -> str:
        return f"receipt of edition {self.edition_id}"
