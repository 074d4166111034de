"""Settings from the environment: defaults, and one sentence for a wrong value."""

import itertools
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from newsletter_site.environment import Environment, is_mailbox
from tests.newsletter_site.read_settings import REAL, ReadSettings, read_settings


@pytest.fixture
def settings_under(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReadSettings:
    def read(**variables: str) -> dict[str, Any]:
        found: dict[str, Any] = read_settings(tmp_path / "data", monkeypatch, **variables)
        return found

    return read


def refusal_of(settings_under: ReadSettings, **variables: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        settings_under(**variables)
    sentence = stopped.value.code
    assert isinstance(sentence, str)
    assert len(sentence.splitlines()) == 1
    assert sentence.startswith("homing: ")
    return sentence.removeprefix("homing: ")


def test_a_bare_checkout_is_for_development(settings_under: ReadSettings) -> None:
    bare = settings_under()
    assert bare["DEBUG"] is True
    assert bare["SITE_URL"] == "http://127.0.0.1:8000"
    assert bare["POSTMARK_BASE_URL"] == "http://127.0.0.1:8025"
    assert bare["DATABASES"]["default"]["ENGINE"] == "newsletter_site.embedded_postgres"
    assert not bare["SESSION_COOKIE_SECURE"]


def test_a_blank_variable_counts_as_unset(settings_under: ReadSettings) -> None:
    blank = settings_under(**dict.fromkeys(REAL, " "), PUBLISH_HOLD_S="", DEBUG=" ")
    assert blank["DEBUG"] is True
    assert blank["PUBLISH_HOLD_S"] == 30
    for name, value in itertools.product(("METRICS_TOKEN", "POSTMARK_WEBHOOK_PASSWORD"), " \t"):
        assert settings_under(**REAL, **{name: value})[name] == ""


def test_a_checkouts_secret_key_is_created_once_and_private(
    settings_under: ReadSettings, tmp_path: Path
) -> None:
    first, second = settings_under()["SECRET_KEY"], settings_under()["SECRET_KEY"]
    assert first == second
    assert len(first) >= 50
    kept = tmp_path / "data" / "secret_key"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    # Other users may only pass through the folder; the user of the embedded PostgreSQL does this.
    assert kept.parent.stat().st_mode & 0o066 == 0
    assert [path.name for path in kept.parent.iterdir()] == ["secret_key"]


def test_a_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as stopped:
        read_settings(tmp_path / "file" / "data", monkeypatch)
    sentence = str(stopped.value.code)
    assert str(tmp_path / "file" / "data") in sentence
    assert "Set HOMING_DATA_DIR to a folder that this user may write to" in sentence


def test_the_home_of_an_unknown_user_is_refused(settings_under: ReadSettings) -> None:
    sentence = refusal_of(settings_under, HOMING_DATA_DIR="~nobody-of-that-name/homing")
    assert sentence.startswith("HOMING_DATA_DIR is '~nobody-of-that-name/homing'; expected")


def test_settings_of_a_real_site_are_strict(settings_under: ReadSettings) -> None:
    real = settings_under(**REAL)
    assert real["DEBUG"] is False
    assert real["POSTMARK_BASE_URL"] == "https://api.postmarkapp.com"
    assert real["DATABASES"]["default"]["ENGINE"] == "django.db.backends.postgresql"
    assert real["SESSION_COOKIE_SECURE"]
    assert real["CSRF_COOKIE_SECURE"]
    assert real["SECURE_SSL_REDIRECT"]
    assert "letter.example.org" in real["ALLOWED_HOSTS"]
    assert real["CSRF_TRUSTED_ORIGINS"] == ["https://letter.example.org"]


def test_only_development_and_its_own_command_load_the_sandbox(
    settings_under: ReadSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "postmark_sandbox" in settings_under()["INSTALLED_APPS"]
    assert "postmark_sandbox" not in settings_under(**REAL)["INSTALLED_APPS"]
    monkeypatch.setattr("sys.argv", ["manage.py", "sandbox"])
    assert "postmark_sandbox" in settings_under(**REAL)["INSTALLED_APPS"]


@pytest.mark.parametrize("name", ["SECRET_KEY", "POSTMARK_SERVER_TOKEN"])
def test_one_variable_of_a_real_site_turns_debug_off(
    settings_under: ReadSettings, name: str
) -> None:
    sentence = refusal_of(settings_under, **{name: REAL[name]})
    assert sentence.startswith("SITE_URL, ")
    given = {other: value for other, value in REAL.items() if other != name}
    sentence = refusal_of(settings_under, **given)
    assert sentence.startswith(f"{name} is not set; expected ")
    assert sentence.endswith(", because DEBUG is off.")


def test_one_sentence_names_all_missing_variables(settings_under: ReadSettings) -> None:
    assert refusal_of(settings_under, DEBUG="off") == (
        "SITE_URL, SECRET_KEY, POSTMARK_SERVER_TOKEN and DATABASE_URL are not set; "
        "expected all of them, because DEBUG is off."
    )
    given = {name: value for name, value in REAL.items() if name != "SITE_URL"}
    sentence = refusal_of(settings_under, **given)
    assert sentence.startswith("SITE_URL is not set; expected an https address, ")


ISSUER = {
    "OIDC_ISSUER": "https://id.example.org/",
    "OIDC_CLIENT_ID": "homing",
    "OIDC_CLIENT_SECRET": "a secret",
}


def test_an_issuer_is_set_completely_or_not_at_all(settings_under: ReadSettings) -> None:
    complete = settings_under(**REAL, **ISSUER)
    assert complete["OIDC_ISSUER"] == "https://id.example.org"
    assert complete["OIDC_NAME"] == "id.example.org"
    assert "a secret" in complete["LOGGING"]["formatters"]["line"]["secrets"]
    for missing in ISSUER:
        given = {name: value for name, value in ISSUER.items() if name != missing}
        assert refusal_of(settings_under, **REAL, **given) == (
            f"{missing} is not set; expected a value, because {next(iter(given))} is set."
        )
    assert refusal_of(settings_under, OIDC_IS_TWO_STEP="on") == (
        "OIDC_ISSUER is not set; expected a value, because OIDC_IS_TWO_STEP is set."
    )


SERVICE = {"MAIL_PROVIDER": "django", "ANYMAIL_ESP": "amazon_ses"}


def test_a_service_gets_its_own_settings(settings_under: ReadSettings) -> None:
    params = '{"region_name": "eu-north-1", "aws_secret_access_key": "wJalrXUt"}'
    found = settings_under(
        **SERVICE,
        ANYMAIL_AMAZON_SES_CLIENT_PARAMS=params,
        ANYMAIL_AMAZON_SES_AUTO_CONFIRM_SNS_SUBSCRIPTIONS="False",
        ANYMAIL_BREVO_API_KEY="of another service",
        ANYMAIL_WEBHOOK_SECRET="hooks:open-sesame",
    )
    assert found["ANYMAIL"] == {
        "AMAZON_SES_CLIENT_PARAMS": json.loads(params),
        "AMAZON_SES_AUTO_CONFIRM_SNS_SUBSCRIPTIONS": False,
        "WEBHOOK_SECRET": "hooks:open-sesame",
        "IGNORE_RECIPIENT_STATUS": True,
        "IGNORE_UNSUPPORTED_FEATURES": True,
        "SENDGRID_GENERATE_MESSAGE_ID": True,
        "UNISENDER_GO_GENERATE_MESSAGE_ID": True,
    }
    assert found["DELIVERY_UNKNOWN_POLICY"] == "hold"
    secrets = found["LOGGING"]["formatters"]["line"]["secrets"]
    assert {"wJalrXUt", "hooks:open-sesame"} <= set(secrets)
    assert "eu-north-1" not in secrets


def test_a_service_and_a_mail_server_exclude_each_other(settings_under: ReadSettings) -> None:
    server = {"EMAIL_URL": "smtp://127.0.0.1:25"}
    expected = "expected one of the two, because MAIL_PROVIDER is django."
    sentence = refusal_of(settings_under, **SERVICE, **server)
    assert sentence == f"EMAIL_URL is set together with ANYMAIL_ESP; {expected}"
    sentence = refusal_of(settings_under, MAIL_PROVIDER="django")
    assert sentence == f"EMAIL_URL is not set, nor is ANYMAIL_ESP; {expected}"
    for service in ("sess", "AMAZON_SES"):
        sentence = refusal_of(settings_under, MAIL_PROVIDER="django", ANYMAIL_ESP=service)
        assert sentence.startswith(f"ANYMAIL_ESP is '{service}'; expected amazon_ses, brevo, ")
    sentence = refusal_of(settings_under, MAIL_PROVIDER="django", ANYMAIL_ESP="postmark")
    assert sentence.startswith("ANYMAIL_ESP is 'postmark'; expected MAIL_PROVIDER=postmark ")
    for name, value in (*server.items(), ("ANYMAIL_ESP", "brevo")):
        sentence = refusal_of(settings_under, **{name: value})
        assert sentence == f"MAIL_PROVIDER is postmark; expected django, because {name} is set."
    sentence = refusal_of(settings_under, **SERVICE, ANYMAIL_AMAZON_SES_CLIENT_PARAMS="{secret")
    assert sentence.startswith("ANYMAIL_AMAZON_SES_CLIENT_PARAMS is not JSON (value hidden); ")
    assert "secret" not in sentence
    of_text = refusal_of(settings_under, **SERVICE, ANYMAIL_AMAZON_SES_CLIENT_PARAMS="eu-north-1")
    assert of_text == sentence
    sentence = refusal_of(settings_under, **SERVICE, DELIVERY_UNKNOWN_POLICY="resend")
    assert sentence.startswith("DELIVERY_UNKNOWN_POLICY is 'resend'; expected hold, ")


def test_an_issuer_without_https_is_for_development(settings_under: ReadSettings) -> None:
    local = ISSUER | {"OIDC_ISSUER": "http://127.0.0.1:9000"}
    assert settings_under(**local)["OIDC_ISSUER"] == "http://127.0.0.1:9000"
    for address in ("http://127.0.0.1:9000", "HTTP://id.example.org"):
        sentence = refusal_of(settings_under, **REAL, **ISSUER | {"OIDC_ISSUER": address})
        assert sentence.startswith(f"OIDC_ISSUER is '{address}'; expected an https address")
    assert refusal_of(settings_under, **ISSUER | {"OIDC_ISSUER": "http://id.example.org"})


def test_debug_and_the_embedded_database_can_be_chosen(settings_under: ReadSettings) -> None:
    given = {name: value for name, value in REAL.items() if name != "DATABASE_URL"}
    for debug in ("on", "off"):
        asked = settings_under(**given, DEBUG=debug)
        assert asked["DATABASES"]["default"]["ENGINE"] == "newsletter_site.embedded_postgres"
    asked = settings_under(**REAL, DEBUG="on")
    assert asked["DEBUG"] is True
    assert asked["DATABASES"]["default"]["HOST"] == "db.example.org"
    assert asked["POSTMARK_BASE_URL"] == "https://api.postmarkapp.com"


def test_every_connection_asks_for_read_committed_and_survives_a_pooler(
    settings_under: ReadSettings,
) -> None:
    for found in (settings_under(), settings_under(**REAL)):
        database = found["DATABASES"]["default"]
        assert database["OPTIONS"]["isolation_level"].name == "READ_COMMITTED"
        assert database["OPTIONS"]["prepare_threshold"] is None
        assert database["DISABLE_SERVER_SIDE_CURSORS"] is True


YES_OR_NO = "one of 1, true, yes, on, 0, false, no, off"
AN_ADDRESS = "an address such as https://letter.example.org"
ONE_ADDRESS = "one address such as Homing <letter@example.org>, at most 255 characters"
SECONDS = "a number of seconds, such as 30 or 0.5"

# Variables with wrong values. Each key says which kind of value is expected.
MISTAKES: dict[str, list[tuple[str, ...]]] = {
    YES_OR_NO: [("DEBUG", "maybe"), ("TRUST_PROXY", "2")],
    AN_ADDRESS: [
        ("SITE_URL", "letter.example.org", "ftp://letter.example.org", "https://", "https://[::1"),
        ("SITE_URL", "https://letter.example.org/?x=1", "https://letter.example.org/#top"),
        ("SITE_URL", "https://letter example.org", "https://brevkort.åland.example"),
        ("SITE_URL", "https://letter.example.org:port", "https://letter.example.org:99999"),
        ("POSTMARK_BASE_URL", "localhost:8025"),
    ],
    ONE_ADDRESS: [
        ("FROM_EMAIL", "letter", "a@example.org, b@example.org", "Ada <a@example.org> and more"),
        ("FROM_EMAIL", "Ada Letter, Jr. <a@example.org>", f"{'x' * 250} <a@example.org>"),
        ("FROM_EMAIL", "Ada <\u200ba@example.org>", "a@exam\u00adple.org"),
        ("FROM_EMAIL", "Ada <a@localhost>", "Ada <a@åland.example>"),
        ("FROM_EMAIL", "Ada\r\nBcc: b@example.org <a@example.org>"),
    ],
    SECONDS: [
        ("PUBLISH_HOLD_S", "-1", "half a minute", "1e3", "nan", "٣", "99999999"),
        ("DELIVERY_LOOKUP_AFTER_S", "60;300", "60,,300"),
        ("DELIVERY_RETRY_BASE_S", "soon"),
    ],
    "a number of seconds of at least 0.1, such as 30 or 0.5": [
        ("DELIVERY_HTTP_DEADLINE_S", "0"),
        ("DELIVERY_LEASE_S", "0.05"),
    ],
    # The last value exceeds PostgreSQL's maximum for a time-out in milliseconds.
    "a number of seconds of at least 0.05 and at most 300, such as 30 or 0.5": [
        ("IDEMPOTENCY_WAIT_S", "0", "301", "2147484")
    ],
    "increasing seconds, such as 60,300,900": [("DELIVERY_LOOKUP_AFTER_S", "300,60", "60,60")],
    "at least DELIVERY_RETRY_BASE_S, which is 5": [("DELIVERY_RETRY_CAP_S", "4")],
    "messages per second above 0, or unset for no limit": [("DELIVERY_RATE_PER_S", "0", "fast")],
    "a percentage above 0 and at most 100, such as 4 or 0.1": [
        ("DELIVERY_SURGE_BOUNCES_PERCENT", "101", "100.5", "0", "0.0", "-4", "4 %", "nan", "1e1"),
        ("DELIVERY_SURGE_COMPLAINTS_PERCENT", "101", "0", "four"),
    ],
    "own or postmark": [("UNSUBSCRIBE_HANDLING", "custom")],
    "resend or hold": [("DELIVERY_UNKNOWN_POLICY", "ask")],
    "a whole number from 1 to 500": [("DELIVERY_BATCH_SIZE", "0", "501", "2.5", "9" * 5_000)],
    "a whole number from 1 to 64": [("DELIVERY_CONCURRENCY", "65"), ("DELIVERY_PROCESSES", "0")],
    "a whole number from 0 to 19": [("DELIVERY_NICENESS", "20")],
    "a whole number from 1 to 1000": [("DELIVERY_MAX_ATTEMPTS", "0"), ("EXPECTED_WORKERS", "two")],
    "a whole number from 7 to 365": [("POSTMARK_RETENTION_DAYS", "6")],
    "a whole number from 1 to 3650": [("IDEMPOTENCY_TTL_DAYS", "0")],
}


@pytest.mark.parametrize("expected", MISTAKES)
def test_a_wrong_value_ends_with_one_sentence(settings_under: ReadSettings, expected: str) -> None:
    for name, *values in MISTAKES[expected]:
        for value in values:
            sentence = refusal_of(settings_under, **{name: value})
            assert sentence.startswith(f"{name} is '"), value
            assert sentence.endswith(f"; expected {expected}."), value


SECRET_MISTAKES = {
    "DATABASE_URL": [
        *("mysql://homing:hunter2@db.example.org/homing", "nonsense://homing:hunter2@db/homing"),
        *("postgres://homing:hunter2@db.example.org:port/homing", "hunter2"),
        *("postgres://homing:hunter2@127.0.0.1:5432", "postgres://homing:hunter2@127.0.0.1:5432/"),
        *("postgres://homing:hunter2/@db/homing", "postgres://homing:5/hunter2@db:5432/homing"),
    ],
    "SITE_URL": ["https://ada:hunter2@letter.example.org"],
    "POSTMARK_BASE_URL": [
        *("ftp://ada:hunter2@postmark.example", "https://hunter2@postmark.example"),
        "https://ada:hunter2@postmark.example:99999",
    ],
    "POSTMARK_SERVER_TOKEN": ["hunter2\nX-Other: header", "hunter2…"],
    "SECRET_KEY": ["hunter2\x7f"],
    "METRICS_TOKEN": ["hunter2\t"],
    "POSTMARK_WEBHOOK_PASSWORD": ["hunter2\r\n"],
}


@pytest.mark.parametrize("name", SECRET_MISTAKES)
def test_a_wrong_value_that_may_be_secret_is_not_shown(
    settings_under: ReadSettings, name: str
) -> None:
    for value in SECRET_MISTAKES[name]:
        sentence = refusal_of(settings_under, **REAL | {name: value})
        assert sentence.startswith(f"{name} is "), value
        assert "hunter2" not in sentence


RIGHT: list[tuple[str, str, object]] = [
    ("PUBLISH_HOLD_S", "0", 0.0),
    ("PUBLISH_HOLD_S", " 0.5 ", 0.5),
    ("DELIVERY_LOOKUP_AFTER_S", "0.2", (0.2,)),
    ("DELIVERY_LOOKUP_AFTER_S", "1, 2.5 ,10", (1.0, 2.5, 10.0)),
    ("DELIVERY_RATE_PER_S", "0.5", 0.5),
    ("DELIVERY_SURGE_BOUNCES_PERCENT", "100", 100.0),
    ("DELIVERY_SURGE_COMPLAINTS_PERCENT", " 0.05 ", 0.05),
    ("DELIVERY_BATCH_SIZE", "500", 500),
    ("TRUST_PROXY", "YES", True),
    ("DEBUG", "Off", False),
    ("POSTMARK_BASE_URL", "http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
    ("POSTMARK_BASE_URL", "https://postmark.example/api", "https://postmark.example/api"),
    ("FROM_EMAIL", "letter@example.org", "letter@example.org"),
    ("FROM_EMAIL", '"Ada, Jr." <a@example.org>', '"Ada, Jr." <a@example.org>'),
    ("FROM_EMAIL", "Åsa <a@example.org>", "Åsa <a@example.org>"),
    ("FROM_EMAIL", "\ufeff\u202aÅsa <a@example.org>\u202c ", "Åsa <a@example.org>"),
    ("ALLOWED_HOSTS", "a.example, b.example,", ["a.example", "b.example"]),
    ("ALLOWED_HOSTS", " , ", ["letter.example.org", "127.0.0.1", "localhost", "[::1]"]),
    ("SECRET_KEY_FALLBACKS", "one,two", ["one", "two"]),
    ("SECRET_KEY_FALLBACKS", "one, two two ,, ", ["one", "two two"]),
    ("IDEMPOTENCY_WAIT_S", "300", 300.0),
    ("UNSUBSCRIBE_HANDLING", "postmark", "postmark"),
]


def test_valid_values_are_converted(settings_under: ReadSettings) -> None:
    for name, value, becomes in RIGHT:
        assert settings_under(**REAL | {name: value})[name] == becomes, (name, value)


@pytest.mark.parametrize(
    "address",
    [
        "postgres://homing:pa/ss@db.example.org:5432/homing",
        # Without the check, this URL would name port 5 of the host “homing”.
        "postgres://homing:5/ss@db.example.org:5432/homing",
        "postgres://ho/ming:pass@db.example.org/homing",
        "postgres://homing:p@ss/word@db.example.org/homing",
        "postgres://homing@/run/postgresql@x/homing",
    ],
)
def test_a_slash_in_a_password_is_explained(settings_under: ReadSettings, address: str) -> None:
    sentence = refusal_of(settings_under, **REAL | {"DATABASE_URL": address})
    assert sentence.startswith("DATABASE_URL is an address with a / before its @")
    assert "with %2F for each / in the password" in sentence


@pytest.mark.parametrize(
    ("address", "host", "password"),
    [
        ("postgres://homing@%2Frun%2Fpostgresql/homing", "/run/postgresql", ""),
        ("postgres://homing@%2frun%2FMine:5433/homing", "/run/Mine", ""),
        ("postgres://%2Frun%2Fpostgresql/homing", "/run/postgresql", ""),
        ("postgres:////run/postgresql/homing", "/run/postgresql", ""),
        ("postgres://homing:p%2Fs%40s@db.example.org/homing", "db.example.org", "p/s@s"),
        ("postgres://homing:p#s@db.example.org:5432/homing", "db.example.org", "p#s"),
        ("postgres://homing:p@db1:5432,db2:5433/homing", "db1,db2", "p"),
    ],
)
def test_escaped_slashes_in_the_database_address_are_read(
    settings_under: ReadSettings, address: str, host: str, password: str
) -> None:
    found = settings_under(**REAL | {"DATABASE_URL": address})["DATABASES"]["default"]
    assert (found["HOST"], found["PASSWORD"], found["NAME"]) == (host, password, "homing")


def test_a_site_at_an_ipv6_address_answers_to_it(settings_under: ReadSettings) -> None:
    found = settings_under(**REAL | {"SITE_URL": "https://[2001:db8::1]:8443"})
    assert "[2001:db8::1]" in found["ALLOWED_HOSTS"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("DELIVERY_RATE", "DELIVERY_RATE_PER_S"),
        ("POSTMARK_TOKEN", "POSTMARK_SERVER_TOKEN"),
        ("ALLOWED_HOST", "ALLOWED_HOSTS"),
        ("LOG_LEVL", "LOG_LEVEL"),
        ("secret_key", "SECRET_KEY"),
    ],
)
def test_a_misspelt_variable_is_found(
    settings_under: ReadSettings, written: str, meant: str
) -> None:
    assert settings_under(**{written: "x"})["MISSPELT_VARIABLES"] == {written: meant}


def test_variables_of_other_programs_are_not_misspelt(settings_under: ReadSettings) -> None:
    others = (
        *("PATH", "HOME", "LOGNAME", "LANG", "PGHOST", "PGPASSWORD", "POSTGRES_PASSWORD"),
        *("WORKERS", "LISTEN_FDS", "LOGS_DIRECTORY", "PIP_INDEX_URL"),
        *("DATABASE_POOL_URL", "SECRET_KEY_BASE", "HTTPS_PROXY", "STATE_DIRECTORY"),
        *("HOMING_COMMIT", "HOMING_VERSION"),
    )
    assert settings_under(**dict.fromkeys(others, "x"))["MISSPELT_VARIABLES"] == {}
    assert settings_under(DELIVERY_RATE="")["MISSPELT_VARIABLES"] == {}


def test_a_secret_keeps_its_blanks() -> None:
    assert Environment({"SECRET_KEY": " spaced "}).secret("SECRET_KEY") == " spaced "


def test_invalid_addresses_are_not_mailboxes() -> None:
    for value in ("", "@", "a@", "@b.example", "a b@c.example", "a@b@c.example"):
        assert not is_mailbox(value), value
