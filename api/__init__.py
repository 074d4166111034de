"""The parts that all API calls share: tokens, parsing, idempotency and problems."""
