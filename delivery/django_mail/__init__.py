"""Any mail server, through Django's e-mail framework (docs/providers.md).

SMTP answers for each message and has no search: after a cut connection nobody can be asked what was
accepted. So the result of a call says for each message what is certain.
"""
