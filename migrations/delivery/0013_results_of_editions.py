"""The numbers of delivered copies and unsubscribed readers of each edition."""

from django.db import migrations, models

FILL = """
INSERT INTO edition_result (edition_id, delivered)
SELECT edition.id, count(*) FROM edition JOIN delivery USING (issue_id, version)
WHERE delivered_at IS NOT NULL GROUP BY edition.id;
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0012_sender_of_a_test_letter")]

    operations = [
        migrations.CreateModel(
            name="EditionResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("delivered", models.IntegerField(db_default=0, default=0)),
                ("unsubscribed", models.IntegerField(db_default=0, default=0)),
                (
                    "edition",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to="delivery.edition",
                    ),
                ),
            ],
            options={"db_table": "edition_result", "default_permissions": ()},
        ),
        migrations.RunSQL(FILL),
    ]
