"""The way in for a web server: `gunicorn newsletter_site.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
application = get_wsgi_application()
