"""The way in for a web server: `gunicorn newsletter_site.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

from idempotency.isolation import refuse_wrong_isolation
from newsletter_site.forms_in_utf8 import forms_in_utf8

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
application = forms_in_utf8(get_wsgi_application())
# A web server runs no system checks; this one must not be passed over (docs/idempotency.md).
refuse_wrong_isolation()
