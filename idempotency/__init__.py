"""Forms that are safe to post twice, with one decorator for views: `safe_to_retry`."""
