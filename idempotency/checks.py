"""What Django refuses at start-up: an isolation level under which a claim cannot work."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from idempotency.isolation import ADVICE, REASON, isolation_fault


@register("idempotency")
def check_isolation_level(**kwargs: Any) -> list[CheckMessage]:
    """Refuse any level but READ COMMITTED. Reads the settings only: no database is asked."""
    fault = isolation_fault(settings.DATABASES)
    return [Error(f"{fault} {REASON}", hint=ADVICE, id="idempotency.E001")] if fault else []
