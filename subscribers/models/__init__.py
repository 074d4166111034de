"""The tables of the list, one idea a file."""

from subscribers.models.left_out_row import LeftOutRow
from subscribers.models.subscriber import Subscriber
from subscribers.models.subscriber_import import SubscriberImport
from subscribers.models.suppression import Suppression

__all__ = ["LeftOutRow", "Subscriber", "SubscriberImport", "Suppression"]
