"""Forms that are safe to post twice, with the decorator `safe_to_retry`."""
