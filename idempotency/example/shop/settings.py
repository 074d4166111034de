"""Settings for trying the example. The variables PGHOST, PGUSER … name the server."""

from psycopg import IsolationLevel

SECRET_KEY = "for this example only"  # noqa: S105
ROOT_URLCONF = "shop.order_views"
LOGIN_URL = "/login/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CONTRIB = [f"django.contrib.{name}" for name in ("auth", "contenttypes", "messages", "sessions")]
INSTALLED_APPS = [*CONTRIB, "idempotency", "shop"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ENGINE = "django.template.backends.django.DjangoTemplates"
MESSAGES = {"context_processors": ["django.contrib.messages.context_processors.messages"]}
TEMPLATES = [{"BACKEND": ENGINE, "APP_DIRS": True, "OPTIONS": MESSAGES}]
# A waiting post must see what the first post committed.
LEVEL = {"isolation_level": IsolationLevel.READ_COMMITTED}
DATABASE = {"ENGINE": "django.db.backends.postgresql", "NAME": "shop", "OPTIONS": LEVEL}
DATABASES = {"default": DATABASE}
MAILERS = {"default": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend"}}  # Django 6.1
