"""Reword labels. The database does not change."""

import delivery.models.newsletter
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0002_rules_first_rows_and_storage"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="attempt",
                    name="result",
                    field=models.CharField(
                        choices=[
                            ("answered", "the provider answered for every message"),
                            ("refused", "the provider refused the whole call"),
                            ("not_sent", "the call did not reach the provider"),
                            ("unknown", "no usable answer; the provider is asked"),
                        ],
                        max_length=10,
                        null=True,
                    ),
                ),
                migrations.AlterField(
                    model_name="batch",
                    name="state",
                    field=models.CharField(
                        choices=[
                            ("ready", "may be claimed once it is due"),
                            ("claimed", "a worker prepares its call"),
                            ("sending", "a call is on record and may have left"),
                            ("unknown", "the call's end is unknown; the provider will be asked"),
                            ("looking_up", "a worker asks the provider"),
                            ("paused", "waits until its edition is resumed"),
                            ("parked", "the rest of it waits for a decision"),
                            ("done", "nothing is left to do"),
                        ],
                        default="ready",
                        max_length=20,
                    ),
                ),
                migrations.AlterField(
                    model_name="delivery",
                    name="outcome",
                    field=models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("sent", "accepted by the provider"),
                            ("unknown", "its call got no usable answer; the provider is asked"),
                            ("suppressed", "may not be mailed"),
                            (
                                "withdrawn",
                                "the reader unsubscribed, or the edition ended, before this copy",
                            ),
                            ("failed", "refused address, or all tries used up"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                migrations.AlterField(
                    model_name="edition",
                    name="control",
                    field=models.CharField(
                        choices=[
                            ("scheduled", "waits for its time; it has no audience before"),
                            ("running", "Running"),
                            (
                                "paused",
                                "paused by an author, or because too many bounced or complained",
                            ),
                            ("stopped", "stopped by a fault of the account or the content"),
                            ("cancelled", "Cancelled"),
                            ("closed", "closed by an author who accepted the rest"),
                        ],
                        default="running",
                        max_length=20,
                    ),
                ),
                migrations.AlterField(
                    model_name="edition",
                    name="goes_to",
                    field=models.CharField(
                        choices=[
                            ("everyone", "everyone confirmed when it was published"),
                            ("reached", "confirmed readers who were sent an earlier version"),
                            (
                                "unreached",
                                "confirmed readers for whom no version is sent or unknown",
                            ),
                            ("nobody", "nobody: only the archive changes"),
                        ],
                        db_default="everyone",
                        default="everyone",
                        max_length=10,
                    ),
                ),
                migrations.AlterField(
                    model_name="edition",
                    name="kind",
                    field=models.CharField(
                        choices=[
                            ("newsletter", "Newsletter"),
                            ("confirmation", "asks a new reader to confirm"),
                            ("record", "links to the data that is stored about an address"),
                            ("test", "shows its author a letter before publication"),
                        ],
                        default="newsletter",
                        max_length=20,
                    ),
                ),
                migrations.AlterField(
                    model_name="newsletter",
                    name="language",
                    field=models.CharField(
                        default="en",
                        help_text="The language of the letters, such as en or pt-PT. Screen readers use it.",
                        max_length=20,
                        validators=[delivery.models.newsletter.one_line],
                    ),
                ),
                migrations.AlterField(
                    model_name="newsletter",
                    name="name",
                    field=models.CharField(
                        default="The Homing Letter",
                        help_text="Shown at the top of every mail and page.",
                        max_length=100,
                        validators=[delivery.models.newsletter.one_line],
                    ),
                ),
                migrations.AlterField(
                    model_name="newsletter",
                    name="postal_address",
                    field=models.CharField(
                        blank=True,
                        default="",
                        help_text="Shown in the footer of every mail. Many countries require it by law.",
                        max_length=300,
                    ),
                ),
                migrations.AlterField(
                    model_name="newsletter",
                    name="reply_to",
                    field=models.EmailField(
                        blank=True,
                        default="",
                        help_text="The address for replies. If empty, replies go to the sender.",
                        max_length=254,
                    ),
                ),
                migrations.AlterField(
                    model_name="newsletter",
                    name="second_person",
                    field=models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Another author who may publish must approve the exact text before it is published.",
                        verbose_name="require a second person's approval",
                    ),
                ),
                migrations.AlterField(
                    model_name="newsletter",
                    name="time_zone",
                    field=models.CharField(
                        default="UTC",
                        help_text="The time zone of the author pages, such as Europe/Lisbon.",
                        max_length=64,
                        validators=[delivery.models.newsletter.named_zone],
                    ),
                ),
            ]
        )
    ]
