"""API calls about issues. They run no SQL and decide nothing about an edition."""
