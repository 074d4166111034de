"""What all API calls share: the token, reading body and query, idempotency, and problems."""
