"""The log: its format, the lines of requests, and what is redacted. docs/logs.md is its page."""
