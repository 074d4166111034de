"""A worker: one running `deliver`, and when it was last heard from."""

from django.db import models
from django.db.models.functions import Now


class WorkerHeartbeat(models.Model):
    """Lets a page say whether anybody is at work. Nothing depends on it for correctness."""

    id = models.UUIDField(primary_key=True)
    started_at = models.DateTimeField(db_default=Now())
    heard_at = models.DateTimeField(db_default=Now())
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    warning = models.TextField(
        blank=True,
        db_default="",
        help_text="What it found wrong when it started; authors are shown it while it runs.",
    )

    class Meta:
        db_table = "worker"

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"
