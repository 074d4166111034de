"""Work that one worker at a time does now and then, such as polling the provider."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class PeriodicTask(models.Model):
    """One task, leased by the worker that runs it. `last_success_at`: when the last such run
    began."""

    name = models.CharField(primary_key=True, max_length=120)
    due_at = models.DateTimeField(db_default=Now())
    owner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0, db_default=0)
    last_error = models.TextField(
        blank=True, default="", db_default="", help_text="Why it failed last."
    )

    class Meta:
        db_table = "periodic_task"
        constraints = [
            models.CheckConstraint(
                name="an_owned_task_has_a_lease",
                condition=Q(owner__isnull=True, lease_until__isnull=True)
                | Q(owner__isnull=False, lease_until__isnull=False, started_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return self.name
