"""The readers who unsubscribed within 7 days of a letter, by edition, so far."""

from django.db import migrations

FILL = """
INSERT INTO edition_result (edition_id, unsubscribed)
SELECT latest.id, count(*)
FROM consent_record, LATERAL (
    SELECT edition.id FROM edition JOIN delivery USING (issue_id, version)
    WHERE kind = 'newsletter' AND recipient_id = subscriber_id AND outcome = 'sent'
      AND published_at BETWEEN at - interval '60 days' AND at AND sent_at > at - interval '7 days'
    ORDER BY sent_at DESC LIMIT 1) AS latest
WHERE act = 'left' AND how <> 'operator' GROUP BY latest.id;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("subscribers", "0015_tags_of_imports"),
        ("delivery", "0013_results_of_editions"),
    ]

    operations = [migrations.RunSQL(FILL)]
