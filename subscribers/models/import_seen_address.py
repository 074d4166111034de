"""An address that stood further up in a file that is being imported."""

from django.db import models

from subscribers.models.suppression import LONGEST_ADDRESS


class ImportSeenAddress(models.Model):
    """Kept during an import to find duplicates across chunks in constant memory."""

    pk = models.CompositePrimaryKey("subscriber_import_id", "email_key")
    subscriber_import = models.ForeignKey(
        "subscribers.SubscriberImport",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    email_key = models.CharField(max_length=LONGEST_ADDRESS, db_collation="C")
    line = models.PositiveIntegerField(help_text="Where it stood first.")
    has_left = models.BooleanField(
        default=False, db_default=False, help_text="A row says that they are gone."
    )

    class Meta:
        db_table = "import_seen_address"
        default_permissions = ()
