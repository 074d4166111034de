"""A table whose foreign key Django defers to the end of the migration."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "later_4_a_rule_for_all")]

    operations = [
        migrations.CreateModel(
            "Remark",
            [
                ("id", models.BigAutoField(primary_key=True)),
                ("edition", models.ForeignKey("delivery.edition", models.CASCADE, db_index=False)),
            ],
            options={"db_table": "remark"},
        )
    ]
