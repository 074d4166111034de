"""
What a failed sign-in is counted under: the only place that says which tries count together.

Names are kept as keyed hashes: what somebody types into the field for the name may be their
password. Never looks anybody up, so that a name that nobody has is counted like one that somebody
has.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.utils.crypto import salted_hmac

from newsletter_site.sign_in.backoff import Patience

_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S
# How many times as many failures a whole network has, over all names.
NETWORK_IS_LOOSER = 10
# Stands where a network is not known, and where none is looked at.
NO_NETWORK = "::"


@dataclass(frozen=True, slots=True)
class Count:
    """
    One count: `hashed` and `network` are its key.

    `ends_with_success` says whether signing in forgets all of it, or that one try alone.
    """

    hashed: str
    network: str
    patience: Patience
    ends_with_success: bool = True


def of_a_browser(name: str, browser: str) -> list[Count]:
    """For a browser in which this author signed in before: that browser's own, and no other."""
    return [Count(_hashed("browser", f"{browser} {name}"), NO_NETWORK, _of_one_name())]


def of_a_network(name: str, network: str) -> list[Count]:
    """
    For everybody else: the network over all names, and this name in this network.

    In the order in which they are held: everybody takes the wider one first, so nobody waits for
    somebody who waits for them.
    """
    address = address_of(network)
    return [
        Count(hashed_network(), address, _of_a_whole_network(), ends_with_success=False),
        Count(hashed_name(name), address, _of_one_name()),
    ]


def hashed_name(name: str) -> str:
    """What stands for an author's name."""
    return _hashed("name", name)


def hashed_network() -> str:
    """What stands for every name of a network."""
    return _hashed("every name", "")


def address_of(network: str) -> str:
    """The first address of a network, which stands for it."""
    return network.partition("/")[0] or NO_NETWORK


def _hashed(kind: str, value: str) -> str:
    return salted_hmac(f"homing.sign-in.{kind}", value, algorithm="sha256").hexdigest()


def _of_one_name() -> Patience:
    return Patience(settings.LOGIN_FAILURES, settings.LOGIN_COOL_OFF_S, _DAY_S)


def _of_a_whole_network() -> Patience:
    # It is forgotten sooner: an office adds up what its people mistype, and rests at night.
    return Patience(settings.LOGIN_FAILURES * NETWORK_IS_LOOSER, settings.LOGIN_COOL_OFF_S, _HOUR_S)
