"""Sign-in with a passkey (WebAuthn), which needs neither a password nor a code."""
