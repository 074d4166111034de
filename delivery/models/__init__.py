"""The tables of delivery. Only `queue/` changes batches and deliveries."""

from delivery.models.alarm import Alarm
from delivery.models.attempt import Attempt
from delivery.models.batch import Batch, BatchTotal
from delivery.models.delivery import Delivery, Evidence
from delivery.models.edition import Edition, EditionResult
from delivery.models.newsletter import Newsletter
from delivery.models.provider_event import (
    ProviderEvent,
    ProviderSuppression,
    SuppressionChange,
)
from delivery.models.worker import (
    DatabaseIdentity,
    MetricValue,
    PeriodicTask,
    SendRate,
    WorkerHeartbeat,
)
