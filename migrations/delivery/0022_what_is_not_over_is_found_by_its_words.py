"""
What is not over has an index that no other condition leads to (delivery/queue/not_over.py).

From `state = 'ready'` the planner could conclude that a batch is in the old one, and read it from
end to end for each claim. Pages and workers of the release before do not know the words of the new
one: what they look through meanwhile is found by the edition, or by reading all batches. That is
slower, and right.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models.lookups import Exact

NOT_OVER = models.Q(
    Exact(
        models.Case(
            models.When(models.Q(("state", "done"), ("missed", 0)), then=models.Value("over")),
            default=models.Value("not over"),
            output_field=models.TextField(),
        ),
        "not over",
    )
)


class Migration(migrations.Migration):
    atomic = False  # Beside those who write.
    dependencies = [("delivery", "0021_a_correction_knows_who_it_goes_to")]

    operations = [
        AddIndexConcurrently(
            model_name="batch",
            index=models.Index(
                condition=NOT_OVER, fields=["edition"], name="batch_that_is_not_over"
            ),
        ),
        RemoveIndexConcurrently(model_name="batch", name="batch_not_over"),
    ]
