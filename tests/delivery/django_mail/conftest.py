"""An SMTP server, and the settings that name it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.delivery.django_mail.smtp_server import SmtpServer


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with SmtpServer() as running:
        yield running


@pytest.fixture
def django_mail(settings: Any, server: SmtpServer) -> SmtpServer:
    """Send through the SMTP server, as MAIL_PROVIDER and EMAIL_URL would say."""
    settings.MAIL_PROVIDER = "django"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.DELIVERY_UNKNOWN_POLICY = "hold"
    return server
