"""What became of an edition's sent copies, in numbers."""

from django.db import models


class EditionResult(models.Model):
    """Delivered copies and unsubscribed readers of an edition.

    The numbers are the sums of all its rows. Each event adds a row, and a worker merges them,
    so that two events never wait for each other. Bounces and complaints are counted in the
    batches, because they can pause an edition.
    """

    edition = models.ForeignKey(
        "delivery.Edition", on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    delivered = models.IntegerField(default=0, db_default=0)
    unsubscribed = models.IntegerField(default=0, db_default=0)

    class Meta:
        db_table = "edition_result"
        default_permissions = ()

    def __str__(self) -> str:
        return f"a part of the results of edition {self.edition_id}"
