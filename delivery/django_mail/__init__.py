"""SMTP servers, and the services that django-anymail connects (docs/providers.md).

They answer for each message and have no search: after a cut connection nobody can be asked what was
accepted. So the result of a call says for each message what is certain.
"""
