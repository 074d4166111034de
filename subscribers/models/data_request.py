"""Requests of readers to see their data, and records of erasures."""

from django.db import models
from django.db.models.functions import Now

from delivery.tasks.leased_task_columns import LeasedTask
from subscribers.models.suppression import LONGEST_ADDRESS


class DataRequest(LeasedTask):
    """A request for the data of an address, which a worker answers.

    A request for an unknown address is stored too. Answering a request deletes its row. A request
    that failed too often is parked with the state `failed`.
    """

    MOST_CLAIMS = 5

    email_key = models.CharField(max_length=LONGEST_ADDRESS, db_collation="C")
    network = models.CharField(max_length=43, blank=True, db_default="")

    class Meta:
        db_table = "data_request"
        default_permissions = ()
        constraints = LeasedTask.Meta.constraints
        indexes = [models.Index(name="data_request_asked_from", fields=["network", "requested_at"])]


class Erasure(models.Model):
    """The keyed hash of an erased reader's address. Imports skip this address."""

    id = models.BigAutoField(primary_key=True)
    address_hash = models.BinaryField()  # keyed BLAKE2b hash of the case-folded address
    erased_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "erasure"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(name="an_address_is_erased_once", fields=["address_hash"])
        ]
