"""The log of consent: acts that start or end consent, with the text shown.

The words that pages show for the acts are in `data_requests/personal_data_sentences.py`.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from delivery.models.shared_columns import ChoiceField, ReaderColumns
from subscribers.models.constraints import checks, unconstrained_key, unindexed_key


class Act(models.TextChoices):
    ASKED = "asked", "asked for the letter"
    CONFIRMED = "confirmed", "confirmed by the reader"
    IMPORTED = "imported", "came with an import"
    LEFT = "left", "left"
    BOUNCED = "bounced", "mail to the address bounced"
    COMPLAINED = "complained", "marked a letter as spam"
    BLOCKED = "blocked", "was blocked"
    RECORD_ASKED = "record asked", "requested their data"
    STATED = "stated", "was added; consent was given elsewhere"
    CHOSE_TOPICS = "chose topics", "chose topics"
    LEFT_TOPICS = "left topics", "left topics"
    LIFTED = "lifted", "the suppression was lifted"


class How(models.TextChoices):
    FORM = "form", "by the form on our page"
    EMBEDDED_FORM = "embedded form", "by a form on another site"
    ARCHIVE = "archive", "by the form below a letter"
    LINK = "link", "by the link in a mail"
    ONE_CLICK = "one-click", "by the button of their mail program"
    IMPORT = "import", "by an import"
    PROVIDER = "provider", "reported by the provider"
    OPERATOR = "operator", "by an operator at the desk"
    API = "api", "by a program"


# Forms in which visitors sign themselves up.
OF_FORMS = (How.FORM, How.EMBEDDED_FORM, How.ARCHIVE)


class ConsentWording(models.Model):
    """The text next to a button for consent.

    Each text is stored once and never changed.
    """

    id = models.BigAutoField(primary_key=True)
    text_hash = models.BinaryField()
    text = models.TextField()
    first_used_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "consent_wording"
        default_permissions = ()
        constraints = [models.UniqueConstraint(name="a_wording_is_kept_once", fields=["text_hash"])]


class ConsentRecord(ReaderColumns):
    """One act that starts or ends consent.

    Triggers forbid changing a record, and deleting it before its reader. The record has the values
    of fields as a visitor typed them. When the visitor confirms, these values are copied to the
    reader.
    """

    id = models.BigAutoField(primary_key=True)
    # The database has no constraint for this key, because the reader is erased before the records.
    subscriber = unconstrained_key("subscribers.Subscriber", related_name="consent_records")
    act = ChoiceField(max_length=12, choices=Act)
    how = ChoiceField(max_length=13, choices=How)
    at = models.DateTimeField(db_default=Now())
    network = models.CharField(max_length=43, blank=True, db_default="")
    wording = unindexed_key("subscribers.ConsentWording", related_name="+")
    subscriber_import = unindexed_key("subscribers.SubscriberImport", related_name="+")
    request = models.PositiveIntegerField(null=True)
    detail = models.TextField(blank=True, db_default="")
    fields = models.JSONField(default=dict, db_default={})
    # The ids of the tags that the sign-up form gives.
    tags = ArrayField(models.IntegerField(), default=list, db_default=[])

    class Meta:
        db_table = "consent_record"
        default_permissions = ()
        constraints = [
            *checks(
                consent_act_is_known=Q(act__in=list(Act.values)),
                consent_way_is_known=Q(how__in=list(How.values)),
                who_asked_or_confirmed_has_a_number=~Q(
                    act__in=["asked", "confirmed", "record asked"]
                )
                | Q(request__isnull=False),
                an_imported_consent_names_the_import=~Q(act="imported")
                | Q(subscriber_import__isnull=False),
                only_the_person_confirms=~Q(act="confirmed") | Q(how="link"),
            )
        ]
        indexes = [
            # This index finds the requests of one network in the last hour.
            models.Index(
                name="consent_asked_from",
                fields=["network", "at"],
                condition=Q(act__in=["asked", "record asked"]) & ~Q(network=""),
            )
        ]

    @property
    def values_of_fields(self) -> dict[str, str]:
        """The typed values, by the name of the field."""
        return {**self.fields, **super().values_of_fields}
