"""Changes of many readers. A worker makes each change chunk by chunk."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from delivery.models.shared_columns import ChoiceField
from delivery.tasks.leased_task_columns import LeasedTask
from subscribers.models.constraints import checks
from subscribers.models.fields_and_tags import LONGEST_TAG

LONGEST_REASON = 500


class ReaderChange(LeasedTask):
    """One action on the readers whom an author chose, with their ids.

    `done` is the checkpoint: the number of handled readers, in the order of their ids.
    """

    MOST_CLAIMS = 5
    LARGE = ("readers",)

    class Action(models.TextChoices):
        TAG = "tag"
        UNTAG = "untag"
        UNSUBSCRIBE = "unsubscribe"
        BLOCK = "block"
        LIFT_BOUNCE = "lift-bounce"
        ERASE = "erase"

    # The form sends this key, so a repeated POST makes no second change.
    key = models.UUIDField(unique=True)
    action = ChoiceField(max_length=12, choices=Action)
    tag_id = models.IntegerField(null=True)
    tag_name = models.CharField(max_length=LONGEST_TAG, blank=True, db_default="")
    # The author's reason for lifting bounces; empty for other actions.
    reason = models.CharField(max_length=LONGEST_REASON, blank=True, default="", db_default="")
    # The ids of the readers; empty after the end of the change.
    readers = ArrayField(models.BigIntegerField())
    changed = models.PositiveIntegerField(db_default=0)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        db_index=False,
        related_name="+",
    )

    class Meta:
        db_table = "reader_change"
        default_permissions = ()
        constraints = [
            *LeasedTask.Meta.constraints,
            *checks(
                a_change_of_tags_names_the_tag=Q(action__in=["tag", "untag"], tag_id__isnull=False)
                | Q(
                    action__in=["unsubscribe", "block", "lift-bounce", "erase"], tag_id__isnull=True
                ),
                a_lifting_of_bounces_says_why=~Q(action="lift-bounce") | ~Q(reason=""),
                a_change_handles_each_reader_once=Q(done__lte=F("total"), changed__lte=F("done")),
                a_finished_change_handled_all_readers=Q(
                    state__in=["waiting", "running"], done__lt=F("total")
                )
                | Q(state="finished", done=F("total"))
                | Q(state__in=["cancelled", "failed"]),
            ),
        ]

    def clear(self, end: str) -> None:
        ReaderChange.objects.filter(pk=self.pk).update(readers=[])
