"""Who came by a program stands in the ledger so; the rules of it let that in."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("subscribers", "0006_files_that_nobody_imported_expire"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="consentrecord",
            name="consent_act_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="consentrecord",
            name="consent_way_is_known",
        ),
        migrations.AlterField(
            model_name="consentrecord",
            name="act",
            field=models.CharField(
                choices=[
                    ("asked", "asked for the letter"),
                    ("confirmed", "confirmed by their own press of the button"),
                    ("imported", "came with an import"),
                    ("left", "left"),
                    ("bounced", "the address did not take mail"),
                    ("complained", "called a letter spam"),
                    ("shut out", "was shut out"),
                    ("record asked", "asked what is held about them"),
                    ("stated", "was added on the word that they had agreed elsewhere"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="consentrecord",
            name="how",
            field=models.CharField(
                choices=[
                    ("form", "by the form on our page"),
                    ("embedded form", "by a form on another site"),
                    ("link", "by the link in a mail"),
                    ("one-click", "by the button of their mail program"),
                    ("import", "by an import"),
                    ("provider", "told by the provider"),
                    ("operator", "by a person at the desk"),
                    ("api", "by a program"),
                ],
                max_length=13,
            ),
        ),
        AddConstraintNotValid(
            model_name="consentrecord",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "act__in",
                        [
                            "asked",
                            "confirmed",
                            "imported",
                            "left",
                            "bounced",
                            "complained",
                            "shut out",
                            "record asked",
                            "stated",
                        ],
                    )
                ),
                name="consent_act_is_known",
            ),
        ),
        AddConstraintNotValid(
            model_name="consentrecord",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "how__in",
                        [
                            "form",
                            "embedded form",
                            "link",
                            "one-click",
                            "import",
                            "provider",
                            "operator",
                            "api",
                        ],
                    )
                ),
                name="consent_way_is_known",
            ),
        ),
    ]
