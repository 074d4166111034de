"""Django's settings. No other code reads the environment (docs/configuration.md)."""

import os
import secrets
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from django.utils.module_loading import import_string
from psycopg import IsolationLevel

from newsletter_site import embedded_postgres
from newsletter_site.environment import (
    LOOPBACK,
    Environment,
    fail,
    host_of,
    is_mailbox,
    secrets_in,
)
from newsletter_site.logs.redact_log_line import basic_credentials
from newsletter_site.operations.release import running_release

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment(os.environ)

# A checkout without settings is for development. Each of these three variables shows that the site
# is for real readers.
DEBUG = env.flag(
    "DEBUG",
    not any(name in env for name in ("DATABASE_URL", "SECRET_KEY", "POSTMARK_SERVER_TOKEN")),
)
# The version and the commit of the running code, shown in log lines, metrics and pages.
RELEASE = running_release()
HOMING_DATA_DIR = env.folder("HOMING_DATA_DIR", BASE_DIR / ".homing")
HEARTBEAT_FILE = env.text("HOMING_HEARTBEAT_FILE")
SITE_URL = env.url("SITE_URL", "http://127.0.0.1:8000")
DATABASE_IS_NAMED = "DATABASE_URL" in env
# True if the operator set DEBUG. If DEBUG is on and was not set, `serve` answers only this machine.
DEBUG_IS_NAMED = "DEBUG" in env
if not DEBUG:
    _HTTPS = "an https address, because links in mail start with it"
    env.require(
        {
            "SITE_URL": _HTTPS,
            "SECRET_KEY": "a long random text, because DEBUG is off",
            **(
                {"POSTMARK_SERVER_TOKEN": "the token of a Postmark server, because DEBUG is off"}
                if env.text("MAIL_PROVIDER", "postmark") == "postmark"
                else {}
            ),
        },
        besides="DATABASE_URL",
    )
    if not SITE_URL.startswith("https://"):
        fail("SITE_URL", repr(SITE_URL), _HTTPS)


def _development_secret_key(data_dir: Path) -> str:
    path = data_dir / "secret_key"
    try:
        data_dir = embedded_postgres.prepare_data_dir(data_dir)
        fresh = path.with_name(f"secret_key.{os.getpid()}")
        if not path.exists():
            # Linking the file is atomic: two processes that start together read the same complete
            # key.
            fresh.touch(0o600, exist_ok=False)
            fresh.write_text(secrets.token_urlsafe(50))
            # The owner of a checkout must be able to use files that root created in it.
            if os.geteuid() == 0:
                owner = data_dir.stat()
                os.chown(fresh, owner.st_uid, owner.st_gid)
            try:
                with suppress(FileExistsError):
                    os.link(fresh, path)
            finally:
                fresh.unlink()
        return path.read_text().strip()
    except embedded_postgres.EmbeddedPostgresError as error:
        sys.exit(f"homing: {error}")
    except OSError as error:
        fail("HOMING_DATA_DIR", f"{str(data_dir)!r} ({error.strerror})", "a writable folder")


SECRET_KEY = (
    env.secret("SECRET_KEY") if "SECRET_KEY" in env else _development_secret_key(HOMING_DATA_DIR)
)
# Signed links in mail must work for years. After SECRET_KEY has changed, the old key still verifies
# these links.
SECRET_KEY_FALLBACKS = env.texts("SECRET_KEY_FALLBACKS")
ALLOWED_HOSTS = env.texts("ALLOWED_HOSTS")
if not ALLOWED_HOSTS:
    ALLOWED_HOSTS = [host_of(SITE_URL), "127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = ["{0.scheme}://{0.netloc}".format(urlsplit(SITE_URL))]

# --- Apps ------------------------------------------------------------------------------------
OUR_APPS = ("newsletter_site", "publishing", "subscribers", "delivery", "idempotency")
INSTALLED_APPS = [
    *OUR_APPS,
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]
# The sandbox is a server for development, which no running site needs. The command `sandbox`
# works even if DEBUG is off.
if DEBUG or "sandbox" in sys.argv[1:3]:
    INSTALLED_APPS.append("postmark_sandbox")
# The folder idempotency/ contains its own migrations, because it can be installed alone.
MIGRATION_MODULES = {app: f"migrations.{app}" for app in OUR_APPS if app != "idempotency"}
AUTH_USER_MODEL = "newsletter_site.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "newsletter_site.one_query_permissions.PermissionsBackend",
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MIDDLEWARE = [
    "newsletter_site.logs.log_requests.RequestLogging",
    "newsletter_site.operations.ops_middleware.OperationsMiddleware",
    # ApiBoundary comes before the other middleware, so that API calls get no redirects and no
    # pages.
    "newsletter_site.api.api_middleware.ApiBoundary",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "newsletter_site.middleware.content_security_policy.content_security_policy",
    # This middleware comes after the middleware for static files, because static files need no
    # database and therefore no slot.
    "newsletter_site.operations.concurrency_limit.LimitConcurrency",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "newsletter_site.middleware.page_language.PageLanguage",
    "newsletter_site.middleware.error_pages.FormErrors",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "newsletter_site.logs.log_requests.BindAuthor",
    "newsletter_site.middleware.author_language.AuthorLanguage",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "newsletter_site.sign_in.enforce_two_step.EnforceTwoStep",
    # AxesMiddleware answers 429 if django-axes refused a sign-in.
    "axes.middleware.AxesMiddleware",
    "newsletter_site.middleware.error_pages.NotFoundPage",
    # This is the innermost middleware. DatabaseUnavailable answers 503 if a view fails because the
    # database is unavailable.
    "newsletter_site.middleware.error_pages.DatabaseUnavailable",
]
ROOT_URLCONF = "newsletter_site.urls"
WSGI_APPLICATION = "newsletter_site.wsgi.application"
# The operator's own templates are used before ours (docs/mail-html.md).
OWN_TEMPLATES_DIR = env.folder("HOMING_TEMPLATES_DIR", HOMING_DATA_DIR / "templates")
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [OWN_TEMPLATES_DIR, BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": [
                "django.templatetags.i18n",
                "django.templatetags.static",
                "django.templatetags.tz",
                "publishing.templatetags.desk",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "subscribers.desk_frame.name_of_provider",
            ],
        },
    },
]

# --- Database --------------------------------------------------------------------------------
if "HOMING_POSTGRES_BIN" in env:
    embedded_postgres.use_programs(env.folder("HOMING_POSTGRES_BIN", BASE_DIR))
if DATABASE_IS_NAMED:
    DATABASES = {"default": env.database("DATABASE_URL")}
else:
    DATABASES = {"default": embedded_postgres.database_settings(HOMING_DATA_DIR)}
DATABASES["default"].update(
    CONN_HEALTH_CHECKS=True,
    CONN_MAX_AGE=60,
    # Behind a pooler in transaction mode, the next fetch of a cursor may use another connection of
    # the server, which does not know the cursor.
    DISABLE_SERVER_SIDE_CURSORS=True,
)
DATABASES["default"].setdefault("OPTIONS", {}).update(
    # idempotency/isolation.py explains this level.
    isolation_level=IsolationLevel.READ_COMMITTED,
    # A pooler may change the server connection, to which prepared statements belong.
    prepare_threshold=None,
    connect_timeout=10,
    # With these values, a vanished server is noticed after half a minute instead of the system's
    # two hours.
    keepalives_idle=10,
    keepalives_interval=5,
    keepalives_count=4,
    tcp_user_timeout=30_000,
)

# --- Sign-in ---------------------------------------------------------------------------------
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
REQUIRE_SECOND_FACTOR = env.flag("REQUIRE_SECOND_FACTOR", False)
OTP_TOTP_ISSUER = "Homing"
OIDC_ISSUER = env.url("OIDC_ISSUER", "") if "OIDC_ISSUER" in env else ""
OIDC_CLIENT_ID = env.text("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = env.secret("OIDC_CLIENT_SECRET")
OIDC_NAME = env.text("OIDC_NAME", host_of(OIDC_ISSUER))
OIDC_IS_TWO_STEP = env.flag("OIDC_IS_TWO_STEP", False)
env.require_together(
    ("OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"),
    besides=("OIDC_NAME", "OIDC_IS_TWO_STEP"),
)
_IS_LOCAL = DEBUG and host_of(OIDC_ISSUER) in LOOPBACK
if OIDC_ISSUER and not OIDC_ISSUER.startswith("https://") and not _IS_LOCAL:
    fail("OIDC_ISSUER", repr(OIDC_ISSUER), "an https address, because passwords depend on it")
AXES_FAILURE_LIMIT = env.whole("LOGIN_FAILURES", 5, least=1, most=100)
AXES_COOLOFF_TIME = timedelta(seconds=env.seconds("LOGIN_COOL_OFF_S", 900, least=0.1))
# Count failures by name and network: failures in another network must not lock an author out.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "newsletter_site.sign_in.throttle.throttle_key"
AXES_CLIENT_IP_CALLABLE = "newsletter_site.sign_in.throttle.network_address"
AXES_LOCKOUT_CALLABLE = "newsletter_site.sign_in.throttle.too_many_failures"
AXES_RESET_ON_SUCCESS = True
# Strangers must not be able to lock an author out permanently.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_ENABLE_ADMIN = AXES_ENABLE_ACCESS_FAILURE_LOG = AXES_VERBOSE = False
AXES_DISABLE_ACCESS_LOG = True
LOGIN_URL = "admin:login"
# The page after a sign-in without `next`. Everyone who can sign in may open this page.
LOGIN_REDIRECT_URL = "start"

# --- Security --------------------------------------------------------------------------------
TRUST_PROXY = env.flag("TRUST_PROXY", False)
if TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = not DEBUG
SESSION_COOKIE_AGE = 7 * 24 * 3600
SECURE_HSTS_SECONDS = 0 if DEBUG else 31_536_000
# These two checks ask for HSTS on subdomains and in preload lists. But some subdomains may lack
# TLS, and a preload list is hard to leave.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
# Django 6 wants the app django.contrib.postgres for array columns. Our array columns do not need
# this app. In each new process, the app would query the types of two extensions that Homing does
# not use.
SILENCED_SYSTEM_CHECKS += ["postgres.E005"]
# One-click unsubscribing must never be redirected (RFC 8058), and health checks use no TLS.
SECURE_REDIRECT_EXEMPT = [r"(?i)^unsubscribe/", r"^health/"]
# If a form was opened before the current session began, its CSRF token is refused. The page for
# this refusal gives the author the posted text back.
CSRF_FAILURE_VIEW = "publishing.publish.csrf_failure_view.csrf_refused"
DATA_UPLOAD_MAX_MEMORY_SIZE = 12 * 1024 * 1024
# DATA_UPLOAD_MAX_MEMORY_SIZE does not limit uploaded files, so pages that expect no files skip
# uploaded files.
FILE_UPLOAD_HANDLERS = ["newsletter_site.middleware.reject_uploads.RejectUploads"]

# --- Language, time, files -------------------------------------------------------------------
# Readers' pages and mails come in these languages, the desk only in English and German.
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("fr", "Français"),
    ("es", "Español"),
    ("pt", "Português"),
    ("it", "Italiano"),
    ("nl", "Nederlands"),
    ("pl", "Polski"),
    ("ar", "العربية"),
    ("he", "עברית"),
]
LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# `collectstatic` is optional: without it, files are served from the checkout.
STATIC_ROOT = env.folder("STATIC_ROOT", BASE_DIR / "staticfiles")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "newsletter_site.static_files.CollectedStaticFiles"},
}
WHITENOISE_USE_FINDERS = True

# --- The mail provider -----------------------------------------------------------------------
MAIL_PROVIDER = env.matching(
    "MAIL_PROVIDER",
    "postmark",
    r"postmark|django|[A-Za-z_]\w*(\.[A-Za-z_]\w*)+",
    "postmark, django, or the path of a class such as our_mail.provider.OurProvider",
)
# A service that django-anymail connects, by Anymail's name, and Anymail's settings for it.
# The list is named and not imported, because no other code knows a provider.
_SERVICES = import_string("delivery.django_mail.anymail_services.SERVICES")
if env.text("ANYMAIL_ESP") == "postmark":
    _WITHOUT = "MAIL_PROVIDER=postmark without ANYMAIL_ESP, with which Homing promises more"
    fail("ANYMAIL_ESP", "'postmark'", _WITHOUT)
ANYMAIL_ESP = env.choice("ANYMAIL_ESP", "", ("", *_SERVICES), ", ".join(_SERVICES))
ANYMAIL_WEBHOOK_SECRET = env.secret("ANYMAIL_WEBHOOK_SECRET")
ANYMAIL = env.of_service(ANYMAIL_ESP) | {
    "WEBHOOK_SECRET": ANYMAIL_WEBHOOK_SECRET,
    # Homing reads the status of each message itself.
    "IGNORE_RECIPIENT_STATUS": True,
    # Some services take no metadata. All of them take headers.
    "IGNORE_UNSUPPORTED_FEATURES": True,
    # The answers of these services name no message, so Anymail makes the ids.
    "SENDGRID_GENERATE_MESSAGE_ID": True,
    "UNISENDER_GO_GENERATE_MESSAGE_ID": True,
}
if MAIL_PROVIDER == "django" and ("EMAIL_URL" in env) == bool(ANYMAIL_ESP):
    _FOUND = "set together with ANYMAIL_ESP" if ANYMAIL_ESP else "not set, nor is ANYMAIL_ESP"
    fail("EMAIL_URL", _FOUND, "one of the two, because MAIL_PROVIDER is django")
if MAIL_PROVIDER == "postmark" and ANYMAIL_ESP:
    fail("MAIL_PROVIDER", "postmark", "django, because ANYMAIL_ESP is set")
if MAIL_PROVIDER == "postmark" and "EMAIL_URL" in env:
    fail("MAIL_PROVIDER", "postmark", "django, because EMAIL_URL is set")
# Django's settings of the SMTP server. Without EMAIL_URL, Django itself sends no mail.
_EMAIL = env.smtp_server("EMAIL_URL")
EMAIL_HOST, EMAIL_PORT = _EMAIL["EMAIL_HOST"], _EMAIL["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _EMAIL["EMAIL_HOST_USER"], _EMAIL["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = _EMAIL["EMAIL_USE_TLS"], _EMAIL["EMAIL_USE_SSL"]
POSTMARK_SERVER_TOKEN = env.secret("POSTMARK_SERVER_TOKEN").strip()
_IN_SANDBOX = DEBUG and not POSTMARK_SERVER_TOKEN
POSTMARK_SERVER_TOKEN = POSTMARK_SERVER_TOKEN or "sandbox"
POSTMARK_BASE_URL = env.url(
    "POSTMARK_BASE_URL", "http://127.0.0.1:8025" if _IN_SANDBOX else "https://api.postmarkapp.com"
)
BROADCAST_STREAM = env.text("POSTMARK_BROADCAST_STREAM", "broadcast")
TRANSACTIONAL_STREAM = env.text("POSTMARK_TRANSACTIONAL_STREAM", "outbound")
# The page of the sandbox, which shows the mail that a development site sent.
SANDBOX_URL = POSTMARK_BASE_URL if _IN_SANDBOX and MAIL_PROVIDER == "postmark" else ""
POSTMARK_RETENTION_DAYS = env.whole("POSTMARK_RETENTION_DAYS", 45, least=7, most=365)
POSTMARK_WEBHOOK_USER = env.text("POSTMARK_WEBHOOK_USER")
POSTMARK_WEBHOOK_PASSWORD = env.secret("POSTMARK_WEBHOOK_PASSWORD")
FROM_EMAIL = env.matching(
    "FROM_EMAIL",
    "Homing <letter@example.org>",
    lambda value: is_mailbox(value) and len(value) <= 255,
    "one address such as Homing <letter@example.org>, at most 255 characters",
)
SENDER_IS_NAMED = "FROM_EMAIL" in env
UNSUBSCRIBE_HANDLING = env.choice("UNSUBSCRIBE_HANDLING", "own", ("own", "postmark"))

# --- Publishing, delivery, provider events ---------------------------------------------------
PUBLISH_HOLD_S = env.seconds("PUBLISH_HOLD_S", 30)
SCHEDULE_LATE_S = env.seconds("SCHEDULE_LATE_S", 3600, least=60)
DELIVERY_BATCH_SIZE = env.optional_whole("DELIVERY_BATCH_SIZE", least=1, most=500)
DELIVERY_CONCURRENCY = env.whole("DELIVERY_CONCURRENCY", 4, least=1, most=64)
# Only Linux reports which cores this process may use.
_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
DELIVERY_PROCESSES = env.whole("DELIVERY_PROCESSES", min(_CORES, 4), least=1, most=64)
EXPECTED_WORKERS = env.optional_whole("EXPECTED_WORKERS", least=1, most=1000)
DELIVERY_NICENESS = env.whole("DELIVERY_NICENESS", 5, least=0, most=19)
DELIVERY_RATE_PER_S = env.optional_rate("DELIVERY_RATE_PER_S")
DELIVERY_HTTP_DEADLINE_S = env.seconds("DELIVERY_HTTP_DEADLINE_S", 120, least=0.1)
DELIVERY_LEASE_S = env.seconds("DELIVERY_LEASE_S", 30, least=0.1)
DELIVERY_LOOKUP_AFTER_S = env.seconds_list("DELIVERY_LOOKUP_AFTER_S", "60,300,900")
DELIVERY_UNKNOWN_POLICY = env.choice(
    "DELIVERY_UNKNOWN_POLICY",
    "resend" if MAIL_PROVIDER == "postmark" else "hold",
    ("resend", "hold"),
)
if DELIVERY_UNKNOWN_POLICY == "resend" and MAIL_PROVIDER == "django":
    fail(
        "DELIVERY_UNKNOWN_POLICY",
        "'resend'",
        "hold, because this provider cannot be asked what it accepted",
    )
DELIVERY_RETRY_BASE_S = env.seconds("DELIVERY_RETRY_BASE_S", 5)
DELIVERY_RETRY_CAP_S = env.seconds("DELIVERY_RETRY_CAP_S", 900)
DELIVERY_MAX_ATTEMPTS = env.whole("DELIVERY_MAX_ATTEMPTS", 10, least=1, most=1000)
if DELIVERY_RETRY_CAP_S < DELIVERY_RETRY_BASE_S:
    fail(
        "DELIVERY_RETRY_CAP_S",
        repr(env.text("DELIVERY_RETRY_CAP_S", "900")),
        f"at least DELIVERY_RETRY_BASE_S, which is {DELIVERY_RETRY_BASE_S:g}",
    )
DELIVERY_POLL_EVERY_S = env.seconds("DELIVERY_POLL_EVERY_S", 3600, least=1)
DELIVERY_SURGE_BOUNCES_PERCENT = env.percent("DELIVERY_SURGE_BOUNCES_PERCENT", 4)
DELIVERY_SURGE_BOUNCES_LEAST = env.whole("DELIVERY_SURGE_BOUNCES_LEAST", 10, least=1, most=999999)
DELIVERY_SURGE_COMPLAINTS_PERCENT = env.percent("DELIVERY_SURGE_COMPLAINTS_PERCENT", 0.1)
DELIVERY_SURGE_COMPLAINTS_LEAST = env.whole(
    "DELIVERY_SURGE_COMPLAINTS_LEAST", 3, least=1, most=999999
)

# --- Readers, limits, retention --------------------------------------------------------------
SIGN_UP_MAILS_PER_DAY = env.whole("SIGN_UP_MAILS_PER_DAY", 3, least=1, most=1000)
SIGN_UPS_PER_HOUR = env.whole("SIGN_UPS_PER_HOUR", 10, least=1, most=100_000)
SIGN_UP_LEAST_S = env.seconds("SIGN_UP_LEAST_S", 1)
BOUNCE_LIFTS_PER_MONTH = env.whole("BOUNCE_LIFTS_PER_MONTH", 3, least=0, most=1000)
PENDING_EXPIRES_DAYS = env.whole("PENDING_EXPIRES_DAYS", 30, least=1, most=3650)
TESTS_PER_HOUR = env.whole("TESTS_PER_HOUR", 60, least=1, most=100_000)
PICTURES_PER_HOUR = env.whole("PICTURES_PER_HOUR", 100, least=1, most=100_000)
IDEMPOTENCY_WAIT_S = env.seconds("IDEMPOTENCY_WAIT_S", 10, least=0.05, most=300)
IDEMPOTENCY_TTL_DAYS = env.whole("IDEMPOTENCY_TTL_DAYS", 30, least=1, most=3650)
DETAILS_KEEP_DAYS = env.whole("DETAILS_KEEP_DAYS", 90, least=1, most=3650)
DELIVERIES_KEEP_DAYS = env.optional_whole("DELIVERIES_KEEP_DAYS", least=1, most=36_500)
IMPORT_EXPIRES_DAYS = env.whole("IMPORT_EXPIRES_DAYS", 7, least=1, most=3650)
IMPORT_MAX_MB = env.whole("IMPORT_MAX_MB", 200, least=1, most=2000)
# This must be longer than PostgreSQL's deadlock_timeout, because autovacuum gives its lock up only
# after a session has waited for deadlock_timeout.
MIGRATE_LOCK_TIMEOUT_S = env.seconds("MIGRATE_LOCK_TIMEOUT_S", 2, least=0.01)
MIGRATE_PATIENCE_S = env.seconds("MIGRATE_PATIENCE_S", 300, least=0.01)
METRICS_TOKEN = env.secret("METRICS_TOKEN")

# --- Web server (manage.py serve) ------------------------------------------------------------
PORT = env.optional_whole("PORT", least=1, most=65_535)
WEB_CONCURRENCY = env.whole("WEB_CONCURRENCY", 2, least=1, most=64)

# --- Logs ------------------------------------------------------------------------------------
LOG_FORMAT = env.choice("LOG_FORMAT", "lines" if DEBUG else "json", ("json", "lines"))
LOG_LEVEL = env.choice("LOG_LEVEL", "info", ("debug", "info", "warning", "error")).upper()
# Operators need the lines of these loggers after restoring a backup (docs/restore.md).
ALWAYS_LOGGED = ("publishing.activity.record_issue_activity", "subscribers.data_requests.erase")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "newsletter_site.logs.log_format.LineFormatter",
            "shape": LOG_FORMAT,
            "words": DEBUG,
            "secrets": [  # redacted in every line
                SECRET_KEY,
                *SECRET_KEY_FALLBACKS,
                *([] if _IN_SANDBOX else [POSTMARK_SERVER_TOKEN]),
                EMAIL_HOST_PASSWORD,
                *secrets_in(ANYMAIL),
                basic_credentials(*ANYMAIL_WEBHOOK_SECRET.partition(":")[::2]),
                POSTMARK_WEBHOOK_PASSWORD,
                OIDC_CLIENT_SECRET,
                basic_credentials(POSTMARK_WEBHOOK_USER, POSTMARK_WEBHOOK_PASSWORD),
                METRICS_TOKEN,
                str(DATABASES["default"].get("PASSWORD", "")),
            ],
        },
    },
    "filters": {
        # Drop records without an exception: they are about requests that already have a log line.
        "has_exception": {
            "()": "django.utils.log.CallbackFilter",
            "callback": lambda record: bool(record.exc_info),
        },
    },
    "handlers": {
        "stderr": {"class": "newsletter_site.logs.log_format.StderrHandler", "formatter": "line"},
    },
    # At the levels INFO and DEBUG, libraries log their input, such as queries and addresses.
    "root": {"handlers": ["stderr"], "level": "ERROR" if LOG_LEVEL == "ERROR" else "WARNING"},
    "loggers": {
        **{name: {"level": LOG_LEVEL} for name in OUR_APPS},
        **{name: {"level": "INFO"} for name in ALWAYS_LOGGED},
        # Remove Django's own handlers, one of which sends mail.
        "django": {"handlers": [], "level": "NOTSET", "propagate": True},
        # Drop Django's lines about requests without an exception, because log_requests.py,
        # error_pages.py and throttle.py log these requests.
        "django.request": {"level": "ERROR", "filters": ["has_exception"]},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "axes": {"level": "ERROR"},
        "django.server": {"handlers": [], "level": "CRITICAL", "propagate": True},
        # Drop this logger's warnings: it writes one for each request that waits for a thread.
        "waitress.queue": {"level": "ERROR"},
    },
}

# This must be the last line, because it compares the environment with every variable that was read.
# The build of an image reads these two variables (docs/deploy.md).
MISSPELT_VARIABLES = env.misspelt(besides={"HOMING_VERSION", "HOMING_COMMIT"})
