"""Homing's settings, as the tests and the processes that they start use them."""

from newsletter_site.settings import *  # noqa: F403
from newsletter_site.settings import INSTALLED_APPS, PASSWORD_HASHERS

# Its `flush` empties only the tables that a test wrote to.
INSTALLED_APPS = ["tests.database", *INSTALLED_APPS]
# Argon2 costs 150 to 270 ms for each user; tests of passwords ask for it by name.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *PASSWORD_HASHERS]
# Look static files up on request. Listing them all takes 35 ms each time a test client starts.
WHITENOISE_AUTOREFRESH = True
