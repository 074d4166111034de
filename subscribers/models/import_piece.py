"""A piece of a file that waits to be imported."""

from django.db import models

LONGEST_PIECE = 1024 * 1024  # bytes


class ImportPiece(models.Model):
    """At most a megabyte of the file, kept until the import has ended."""

    pk = models.CompositePrimaryKey("subscriber_import_id", "number")
    subscriber_import = models.ForeignKey(
        "subscribers.SubscriberImport",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="pieces",
    )
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        db_table = "import_piece"
        default_permissions = ()
