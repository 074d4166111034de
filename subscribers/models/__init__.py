"""The tables of the list, one idea a file."""

from subscribers.models.bounce import Bounce
from subscribers.models.consent_record import ConsentRecord, ConsentWording
from subscribers.models.data_request import DataRequest, Erasure
from subscribers.models.subscriber import Subscriber
from subscribers.models.subscriber_import import (
    ImportPiece,
    ImportSeenAddress,
    RejectedRow,
    SubscriberImport,
)
from subscribers.models.suppression import Suppression

__all__ = [
    "Bounce",
    "ConsentRecord",
    "ConsentWording",
    "DataRequest",
    "Erasure",
    "ImportPiece",
    "ImportSeenAddress",
    "RejectedRow",
    "Subscriber",
    "SubscriberImport",
    "Suppression",
]
