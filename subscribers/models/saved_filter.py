"""Filters of the list of readers that authors have saved under a name."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from subscribers.models.constraints import checks
from subscribers.models.fields_and_tags import LONGEST_TAG, Tag
from subscribers.models.subscriber import Subscriber

LONGEST_NAME = LONGEST_TAG
LONGEST_SEARCH = 254
WHOLE_ADDRESS = r"[^@\s]@[^@\s]+\.[^@\s]"
IMPORT_SOURCE = "import-"  # in a source, the number of the import follows


class SavedFilter(models.Model):
    """A filter with a name. Everyone who manages readers sees it.

    Deleting a tag deletes the filters by this tag, because nobody could match them.
    """

    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=LONGEST_NAME)
    state = models.CharField(max_length=12, blank=True, default="")
    text = models.CharField(max_length=LONGEST_SEARCH, blank=True, default="")
    tag = models.ForeignKey(Tag, models.CASCADE, null=True, db_index=False, related_name="+")
    source = models.CharField(max_length=17, blank=True, default="")
    since = models.DateField(null=True)
    until = models.DateField(null=True)

    class Meta:
        db_table = "saved_filter"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(Lower("name"), name="one_saved_filter_per_name"),
            *checks(
                a_saved_filter_has_a_name=~Q(name=""),
                a_saved_filter_names_a_known_state=Q(state__in=["", *Subscriber.State.values]),
                a_saved_filter_names_a_known_source=Q(source__in=["", *Subscriber.Source.values])
                | Q(source__regex=f"^{IMPORT_SOURCE}[0-9]+$"),
                # An erasure would not find the address of a reader here.
                a_saved_filter_has_no_whole_address=~Q(text__regex=WHOLE_ADDRESS)
                & ~Q(name__regex=WHOLE_ADDRESS),
                a_saved_filter_filters=~Q(state="")
                | ~Q(text="")
                | ~Q(source="")
                | Q(tag__isnull=False)
                | Q(since__isnull=False)
                | Q(until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name
