"""Sign-ups by the form below a letter of the archive."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q

WAYS = [
    ("form", "by the form on our page"),
    ("embedded form", "by a form on another site"),
    ("archive", "by the form below a letter"),
    ("link", "by the link in a mail"),
    ("one-click", "by the button of their mail program"),
    ("import", "by an import"),
    ("provider", "reported by the provider"),
    ("operator", "by an operator at the desk"),
    ("api", "by a program"),
]
# Its other words stay as the first release wrote them.
RATCHET = """
DO $$ BEGIN
    EXECUTE replace(pg_get_functiondef('subscriber_ratchet'::regproc),
                    '(''form'', ''embedded form'')', '(''form'', ''embedded form'', ''archive'')');
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0017_new_readers_by_source")]

    operations = [
        migrations.AlterField(
            "consentrecord", "how", models.CharField(choices=WAYS, max_length=13)
        ),
        migrations.RemoveConstraint("consentrecord", "consent_way_is_known"),
        AddConstraintNotValid(
            "consentrecord",
            models.CheckConstraint(
                condition=Q(how__in=[way for way, _ in WAYS]), name="consent_way_is_known"
            ),
        ),
        migrations.RunSQL(RATCHET),
    ]
