"""Reword labels. The database does not change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("subscribers", "0002_rules_of_consent"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="consentrecord",
                    name="act",
                    field=models.CharField(
                        choices=[
                            ("asked", "asked for the letter"),
                            ("confirmed", "confirmed by the reader"),
                            ("imported", "came with an import"),
                            ("left", "left"),
                            ("bounced", "mail to the address bounced"),
                            ("complained", "marked a letter as spam"),
                            ("blocked", "was blocked"),
                            ("record asked", "requested their data"),
                            ("stated", "was added; consent was given elsewhere"),
                        ],
                        max_length=12,
                    ),
                ),
                migrations.AlterField(
                    model_name="subscriber",
                    name="state",
                    field=models.CharField(
                        choices=[
                            ("pending", "has not confirmed yet"),
                            ("confirmed", "confirmed"),
                            ("unsubscribed", "unsubscribed"),
                            ("bounced", "mail to this address bounced"),
                            ("complained", "marked a letter as spam"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                migrations.AlterField(
                    model_name="suppression",
                    name="reason",
                    field=models.CharField(
                        choices=[
                            ("bounce", "mail to it bounces"),
                            ("complaint", "its owner marked a letter as spam"),
                            ("unsubscribe", "its owner unsubscribed on the provider's page"),
                            ("manual", "an author or operator blocked it"),
                        ],
                        max_length=11,
                    ),
                ),
            ]
        )
    ]
