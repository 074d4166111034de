"""What Homing asks of a mail provider, and the provider that the settings name.

`provider_protocol.py` has the questions. Only the folder of a provider, such as
`delivery/postmark/`, knows how that provider answers (docs/providers.md).
"""
