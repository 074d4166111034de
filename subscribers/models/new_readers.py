"""How many readers were confirmed in each month, by where they came from."""

from django.db import models


class NewReaders(models.Model):
    """Readers confirmed in a month (UTC) by source: all rows of both, summed.

    Triggers add a row with each change, and a worker merges them, so that two changes never wait
    for each other. No row names a reader.
    """

    month = models.DateField()
    # A key of `How` or `Subscriber.Source`.
    source = models.CharField(max_length=13)
    readers = models.IntegerField()

    class Meta:
        db_table = "new_readers"
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.month:%Y-%m} {self.source}"
