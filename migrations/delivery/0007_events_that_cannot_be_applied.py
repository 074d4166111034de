"""An event whose application fails again and again is set aside, so that it holds up no other."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0006_the_database_tells_which_one_it_is")]

    operations = [
        migrations.AddField(
            model_name="providerevent",
            name="failures",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                help_text="Times that applying it failed; after a few it is set aside.",
            ),
        ),
    ]
