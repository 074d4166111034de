"""The calls about readers and imports. They only translate; there is no SQL and no decision
here."""
