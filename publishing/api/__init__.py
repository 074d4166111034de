"""API calls about issues. The rules and the SQL are in other modules."""
