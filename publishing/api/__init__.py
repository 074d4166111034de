"""API calls about issues. The rules and the SQL of issues are in other modules."""
