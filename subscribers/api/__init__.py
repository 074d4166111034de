"""API calls about readers and imports.

These modules only translate JSON to function calls, and results to JSON.
"""
