"""The log: its format, the request lines, and redaction (docs/logs.md)."""
