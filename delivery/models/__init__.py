"""The tables of delivery. Only `queue/` changes batches and deliveries."""

from delivery.models.alarm import Alarm
from delivery.models.attempt import Attempt
from delivery.models.batch import Batch
from delivery.models.database_identity import DatabaseIdentity
from delivery.models.delivery import Delivery
from delivery.models.edition import Edition
from delivery.models.evidence import Evidence
from delivery.models.metric import MetricValue
from delivery.models.newsletter import Newsletter
from delivery.models.periodic_task import PeriodicTask
from delivery.models.provider_event import ProviderEvent
from delivery.models.provider_suppression import ProviderSuppression, SuppressionChange
from delivery.models.send_rate import SendRate
from delivery.models.worker import WorkerHeartbeat
