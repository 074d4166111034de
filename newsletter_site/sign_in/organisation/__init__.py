"""Sign-in with the organisation's account (OpenID Connect)."""
