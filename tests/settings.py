"""Homing's settings for the tests and the processes that they start."""

from newsletter_site.settings import *  # noqa: F403
from newsletter_site.settings import INSTALLED_APPS, PASSWORD_HASHERS

# The `flush` command of tests.database empties only the tables that a test wrote to.
INSTALLED_APPS = ["tests.database", *INSTALLED_APPS]
# Argon2 takes 150 to 270 ms for each password. Tests of passwords select Argon2 by its name.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *PASSWORD_HASHERS]
# Find static files on request. To list them all would take 35 ms whenever a test client starts.
WHITENOISE_AUTOREFRESH = True
