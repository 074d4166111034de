"""The index of the mails that wait until a suppression is lifted."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("delivery", "0017_liftings_for_mail")]

    operations = [
        AddIndexConcurrently(
            "suppressionchange",
            models.Index(
                condition=models.Q(("copy_waits", True)),
                fields=["id"],
                name="suppression_change_of_mail",
            ),
        )
    ]
