"""The tables of the list, one idea a file."""

from subscribers.models.bounce import Bounce
from subscribers.models.consent_record import ConsentRecord
from subscribers.models.consent_wording import ConsentWording
from subscribers.models.data_request import DataRequest
from subscribers.models.erasure import Erasure
from subscribers.models.import_piece import ImportPiece
from subscribers.models.import_seen_address import ImportSeenAddress
from subscribers.models.rejected_row import RejectedRow
from subscribers.models.subscriber import Subscriber
from subscribers.models.subscriber_import import SubscriberImport
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
