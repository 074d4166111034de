"""An erasure: that somebody was erased, and nothing of who it was."""

from django.db import models
from django.db.models.functions import Now


class Erasure(models.Model):
    """The keyed hash of an erased reader's address, by which an import skips it."""

    id = models.BigAutoField(primary_key=True)
    address_hash = models.BinaryField(help_text="BLAKE2b of the case-folded address, keyed.")
    erased_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "erasure"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(name="an_address_is_erased_once", fields=["address_hash"])
        ]
