"""Health checks, metrics and the limit of concurrent requests."""
