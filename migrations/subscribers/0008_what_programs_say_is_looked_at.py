"""Lines of before the wider rules are looked at, beside whoever writes."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0007_what_programs_say")]

    operations = [
        ValidateConstraint("consentrecord", "consent_act_is_known"),
        ValidateConstraint("consentrecord", "consent_way_is_known"),
    ]
