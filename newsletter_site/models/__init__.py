"""The tables of the site: who signs in, and the tokens of programs."""

from newsletter_site.models.api_token import ApiToken
from newsletter_site.models.user import User

__all__ = ["ApiToken", "User"]
