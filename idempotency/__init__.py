"""Forms that are safe to post twice: a view asks for it with one decorator, `safe_to_retry`."""
