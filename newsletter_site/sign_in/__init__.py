"""Sign-in: passwords, two-step sign-in and the limits on failed attempts."""
