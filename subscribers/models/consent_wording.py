"""A wording: what a person saw when they agreed, word for word."""

from django.db import models
from django.db.models.functions import Now


class ConsentWording(models.Model):
    """The sentences beside a button, kept once and for good; consent records point to them."""

    id = models.BigAutoField(primary_key=True)
    text_hash = models.BinaryField()
    text = models.TextField()
    first_used_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "consent_wording"
        default_permissions = ()
        constraints = [models.UniqueConstraint(name="a_wording_is_kept_once", fields=["text_hash"])]
