"""The tables of readers, consent and imports."""

from subscribers.models.consent_record import ConsentRecord as ConsentRecord
from subscribers.models.consent_record import ConsentWording as ConsentWording
from subscribers.models.data_request import DataRequest as DataRequest
from subscribers.models.data_request import Erasure as Erasure
from subscribers.models.fields_and_tags import DeletedFieldOrTag as DeletedFieldOrTag
from subscribers.models.fields_and_tags import ReaderFieldDefinition as ReaderFieldDefinition
from subscribers.models.fields_and_tags import Tag as Tag
from subscribers.models.reader_change import ReaderChange as ReaderChange
from subscribers.models.saved_filter import SavedFilter as SavedFilter
from subscribers.models.subscriber import NewReaders as NewReaders
from subscribers.models.subscriber import ReaderTotal as ReaderTotal
from subscribers.models.subscriber import Subscriber as Subscriber
from subscribers.models.subscriber_import import ImportPiece as ImportPiece
from subscribers.models.subscriber_import import ImportSeenAddress as ImportSeenAddress
from subscribers.models.subscriber_import import RejectedRow as RejectedRow
from subscribers.models.subscriber_import import SubscriberImport as SubscriberImport
from subscribers.models.suppression import Bounce as Bounce
from subscribers.models.suppression import Suppression as Suppression
