"""The provider and the retry policy that the settings name."""

from functools import cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from delivery.provider.provider_protocol import Capabilities, Provider
from delivery.rules import after_call_or_lookup

# Another value of MAIL_PROVIDER is the path of a class.
PROVIDERS = {
    "postmark": "delivery.postmark.postmark_provider.PostmarkProvider",
    "django": "delivery.django_mail.django_mail_provider.DjangoMail",
    "anymail": "delivery.django_mail.anymail_provider.AnymailProvider",
}
# Settings with these words in their names can change while the account stays the same.
NOT_OF_ACCOUNTS = ("WEBHOOK", "SIGNING", "TRACKING", "IGNORE")


def provider_key() -> str:
    """Return the configured provider and, for a service, the settings of its account.

    If one provider knows nothing of calls to another, their keys differ. The keys of one account
    also differ if any of its settings changed, such as an API key.
    """
    if settings.MAIL_PROVIDER == "django" and settings.ANYMAIL_ESP:
        account = sorted(
            (name, repr(value))
            for name, value in settings.ANYMAIL.items()
            if not any(word in name for word in NOT_OF_ACCOUNTS)
        )
        return f"anymail {settings.ANYMAIL_ESP} {account}"
    return settings.MAIL_PROVIDER


def provider_class() -> type[Provider]:
    """Return the configured provider's class. Raises `ImproperlyConfigured`."""
    return _class_at(provider_key().partition(" ")[0])


@cache
def _class_at(name: str) -> type[Provider]:
    expected = "postmark, django, or the path of a class that derives from Provider"
    try:
        found = import_string(PROVIDERS.get(name, name))
    except ImportError as error:
        message = f"MAIL_PROVIDER is {name!r} ({error}); expected {expected}."
        raise ImproperlyConfigured(message) from error
    if not (isinstance(found, type) and issubclass(found, Provider)):
        raise ImproperlyConfigured(f"MAIL_PROVIDER is {name!r}; expected {expected}.")
    return found


def capabilities() -> Capabilities:
    """Return what the configured provider can do."""
    return provider_class().capabilities()


def provider_name() -> str:
    """Return the configured provider's name in sentences."""
    return capabilities().name


def batch_size() -> int:
    """Return the number of messages in a call that the operator or the provider chose."""
    can = capabilities()
    return min(settings.DELIVERY_BATCH_SIZE or can.batch, can.largest_batch)


def provider_from_settings() -> Provider:
    """Make a client of the configured provider, for one thread."""
    return provider_class()()


def policy_from_settings() -> after_call_or_lookup.Policy:
    """Read the operator's policy for retries and look-ups."""
    can = capabilities()
    return after_call_or_lookup.Policy(
        retry_base_s=settings.DELIVERY_RETRY_BASE_S,
        retry_cap_s=settings.DELIVERY_RETRY_CAP_S,
        max_tries=settings.DELIVERY_MAX_ATTEMPTS,
        # Nothing will say more about a call to a provider that cannot be asked and reports nothing.
        lookup_after_s=settings.DELIVERY_LOOKUP_AFTER_S if can.may_say_more else (0.0,),
        resend_when_absent=settings.DELIVERY_UNKNOWN_POLICY == "resend" and can.can_be_asked,
    )
