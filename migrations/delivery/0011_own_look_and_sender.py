"""The newsletter's sender, its look, and the author's own words."""

from django.db import migrations, models

from delivery.models.newsletter import one_line


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0010_welcome_letter_that_is_on"),
    ]

    operations = [
        migrations.AddField(
            model_name="newsletter",
            name="accent",
            field=models.CharField(db_default="#0f5a6e", default="#0f5a6e", max_length=7),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="footer",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="header",
            field=models.CharField(
                choices=[
                    ("name", "The name"),
                    ("logo", "The logo"),
                    ("both", "The logo and the name"),
                ],
                db_default="name",
                default="name",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="layout",
            field=models.CharField(
                choices=[
                    ("plain", "Plain: like a personal email"),
                    ("classic", "Classic: the name above the letter"),
                    ("picture", "Picture first: the first picture above the title"),
                ],
                db_default="classic",
                default="classic",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="logo",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="logo_height",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="logo_width",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="own_sites",
            field=models.CharField(blank=True, db_default="", default="", max_length=2000),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="sender_address",
            field=models.EmailField(blank=True, db_default="", default="", max_length=254),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="sender_name",
            field=models.CharField(
                blank=True, db_default="", default="", max_length=100, validators=[one_line]
            ),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="sign_up_text",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.AddField(
            model_name="newsletter",
            name="typeface",
            field=models.CharField(
                choices=[
                    ("book", "Book: an old-style serif throughout"),
                    ("modern", "Modern: sans serif throughout"),
                    ("magazine", "Magazine: sans serif headings, serif text"),
                    ("journal", "Journal: serif headings, sans serif text"),
                ],
                db_default="book",
                default="book",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="newsletter",
            constraint=models.CheckConstraint(
                condition=models.Q(("accent__regex", "^#[0-9a-f]{6}$")), name="accent_is_a_colour"
            ),
        ),
    ]
