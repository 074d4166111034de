"""The WSGI application that `manage.py serve` serves."""

import os

from django.core.wsgi import get_wsgi_application

from idempotency.isolation import refuse_wrong_isolation
from newsletter_site.logs.uncaught_exceptions import install_exception_hooks
from newsletter_site.middleware.wsgi_wrappers import drop_head_bodies, ignore_charset
from newsletter_site.operations.metrics.flush_metrics import flusher

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
install_exception_hooks()
application = drop_head_bodies(ignore_charset(get_wsgi_application()))
flusher.is_enabled = True
# Web servers run no system checks, but this check is essential (idempotency/README.md).
refuse_wrong_isolation()
