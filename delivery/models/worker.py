"""Tables that workers share: heartbeats, tasks, send rate, identity, metrics."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now


class WorkerHeartbeat(models.Model):
    """The heartbeat of one worker, for operators.

    Sending does not depend on heartbeats.
    """

    id = models.UUIDField(primary_key=True)
    started_at = models.DateTimeField(db_default=Now())
    heard_at = models.DateTimeField(db_default=Now())
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    # The current problems, each as a Reason. Every heartbeat replaces the problems.
    problems = models.JSONField(default=list, db_default=[])
    # The problem that a worker of an earlier release reports. The current release does not write
    # this column.
    warning = models.TextField(blank=True, db_default="")

    class Meta:
        db_table = "worker"

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"


class PeriodicTask(models.Model):
    """A task that is leased to one worker at a time.

    `last_success_at` is the start of the last successful run.
    """

    name = models.CharField(primary_key=True, max_length=120)
    due_at = models.DateTimeField(db_default=Now())
    owner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0, db_default=0)
    last_error = models.TextField(blank=True, default="", db_default="")

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


class SendRate(models.Model):
    """The send rate: one row, used if `DELIVERY_RATE_PER_S` is set or after a 429.

    The last 429, at `slowed_at`, reduced the rate to `slowed_to_per_s`. `too_fast_per_s` is the
    fastest rate at which the provider refused a call since the last slowdown ended. These columns
    are null while the rate is not reduced.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    next_claim_at = models.DateTimeField(db_default=Now())
    too_fast_per_s = models.FloatField(null=True)
    slowed_to_per_s = models.FloatField(null=True)
    slowed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "send_rate"
        constraints = [
            models.CheckConstraint(name="there_is_one_send_rate", condition=Q(id=1)),
            models.CheckConstraint(
                name="a_slowed_pace_says_how_far_and_since_when",
                condition=Q(
                    too_fast_per_s__isnull=True,
                    slowed_to_per_s__isnull=True,
                    slowed_at__isnull=True,
                )
                | Q(
                    too_fast_per_s__gt=F("slowed_to_per_s"),
                    slowed_to_per_s__gt=0,
                    slowed_at__isnull=False,
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"next claim at {self.next_claim_at}"


class DatabaseIdentity(models.Model):
    """One row, written when workers first saw this database.

    The restore of a backup copies the row into another cluster, timeline or database.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    system_identifier = models.CharField(max_length=20)
    timeline = models.CharField(max_length=8)
    database = models.BigIntegerField()  # The oid of the database.
    since = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "database_identity"
        constraints = [models.CheckConstraint(name="there_is_one_identity", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"{self.system_identifier}/{self.timeline}/{self.database}"


class MetricValue(models.Model):
    """A counter. Each name has one row for each set of labels.

    Values are only ever increased. A killed process loses the counts of its last seconds. If the
    answer to a commit is lost, the committed counts may be added twice.
    """

    pk = models.CompositePrimaryKey("name", "labels")
    name = models.CharField(max_length=80)
    labels = models.CharField(max_length=300)  # JSON with sorted names; {} without labels.
    value = models.FloatField(default=0, db_default=0)

    class Meta:
        db_table = "metric_value"

    def __str__(self) -> str:
        return f"{self.name}{self.labels}"
