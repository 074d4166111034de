"""The sequence that numbers test letters: also two at once have numbers of their own."""

from django.db import migrations

# The number is an edition's version, which has nine digits at most (delivery/delivery_key.py).
SEQUENCE = "CREATE SEQUENCE test_letter_number MAXVALUE 999999999"


class Migration(migrations.Migration):
    dependencies = [("delivery", "0013_what_the_overview_looks_through")]

    operations = [migrations.RunSQL(SEQUENCE, "DROP SEQUENCE test_letter_number")]
