"""
API calls about issues: publish, status, actions, deliveries, receipt.

Calls translate between JSON and functions; they run no SQL and decide nothing about an edition.
"""
