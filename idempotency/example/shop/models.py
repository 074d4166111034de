"""Orders, and the mails that they cause."""

from django.conf import settings
from django.db import models


class Order(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    key = models.CharField(max_length=49)
    item = models.CharField(max_length=100)
    quantity = models.PositiveIntegerField(default=1)

    class Meta:
        # The constraint is permanent. After a saved response has expired, the constraint still
        # refuses a second order with the same key.
        constraints = [models.UniqueConstraint("user", "key", name="one_order_for_each_key")]


class Mail(models.Model):
    """A mail of the outbox.

    The state `started` is committed before the call to the provider, and the call's result is
    committed after the call.
    """

    order = models.OneToOneField(Order, on_delete=models.CASCADE)
    state = models.CharField(max_length=8, default="waiting")  # started, sent, refused, unknown
    attempt = models.UUIDField(null=True)  # the provider gets this id with the mail
    started_at = models.DateTimeField(null=True)
