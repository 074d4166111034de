"""The fields of readers that the author defines, and the tags that group readers."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from delivery.models.shared_columns import ChoiceField
from subscribers.models.constraints import checks

MOST_FIELDS = 20
LONGEST_KEY = 30
LONGEST_TAG = 60
LONGEST_LABEL = 60
LONGEST_DESCRIPTION = 200


class ReaderFieldDefinition(models.Model):
    """A field of readers that the author defines, and a merge field, such as `city`."""

    key = models.CharField(primary_key=True, max_length=LONGEST_KEY)
    label = models.CharField(max_length=LONGEST_LABEL)
    # The text for readers without a value, if the merge field in the letter has no fallback.
    fallback = models.CharField(max_length=256, blank=True, default="", db_default="")
    position = models.PositiveSmallIntegerField()  # from 1
    on_form = models.BooleanField(default=False, db_default=False)  # new readers are asked for it

    class Meta:
        db_table = "reader_field"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                name="one_field_per_position",
                fields=["position"],
                deferrable=models.Deferrable.DEFERRED,
            ),
            *checks(
                a_field_key_is_a_plain_word=Q(key__regex=r"^[a-z][a-z0-9_]*$"),
                there_are_at_most_20_fields=Q(position__range=(1, MOST_FIELDS)),
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Tag(models.Model):
    """A label on readers. A topic is a tag that readers can see and choose.

    A reader's row has the ids of tags. An id is never used again, so the id of a deleted tag means
    nothing.
    """

    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=LONGEST_TAG)
    is_topic = models.BooleanField(default=False, db_default=False)
    # Readers see this text next to the topic, if the tag is a topic.
    description = models.CharField(
        max_length=LONGEST_DESCRIPTION, blank=True, default="", db_default=""
    )

    class Meta:
        db_table = "tag"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(Lower("name"), name="one_tag_per_name"),
            *checks(a_tag_has_a_name=~Q(name="")),
        ]

    def __str__(self) -> str:
        return self.name


class DeletedFieldOrTag(models.Model):
    """A deleted field or tag that workers remove from readers.

    `after` is the checkpoint: the id of the last handled reader.
    """

    class Kind(models.TextChoices):
        FIELD = "field"
        TAG = "tag"

    id = models.BigAutoField(primary_key=True)
    kind = ChoiceField(max_length=5, choices=Kind)
    key = models.CharField(max_length=LONGEST_KEY)  # the key of a field, or the id of a tag
    after = models.BigIntegerField(default=0, db_default=0)  # the id of the last handled reader

    class Meta:
        db_table = "deleted_field_or_tag"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(name="a_field_or_tag_is_deleted_once", fields=["kind", "key"])
        ]
