"""Which database this is: a worker notices by it that a backup was restored."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class DatabaseIdentity(models.Model):
    """One row, written when workers first saw this database. A restored backup brings it into
    another cluster, timeline or database."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    system_identifier = models.CharField(max_length=20)
    timeline = models.CharField(max_length=8)
    database = models.BigIntegerField(help_text="The oid of the database.")
    since = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "database_identity"
        constraints = [models.CheckConstraint(name="there_is_one_identity", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"{self.system_identifier}/{self.timeline}/{self.database}"
