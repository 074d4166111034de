"""A data request: somebody typed an address to see what is held about it."""

from django.db import models
from django.db.models.functions import Now

from subscribers.models.suppression import LONGEST_ADDRESS


class DataRequest(models.Model):
    """A request that waits for a worker; the same row whether somebody has the address or not."""

    id = models.BigAutoField(primary_key=True)
    email_key = models.CharField(
        max_length=LONGEST_ADDRESS, db_collation="C", help_text="The case-folded address."
    )
    network = models.CharField(max_length=43, blank=True, db_default="")
    asked_at = models.DateTimeField(db_default=Now())
    failures = models.PositiveSmallIntegerField(db_default=0)

    class Meta:
        db_table = "data_request"
        default_permissions = ()
        indexes = [models.Index(name="data_request_asked_from", fields=["network", "asked_at"])]
