"""
Forms that are safe to post twice. A view asks for it with one decorator, `safe_to_retry`.

The app knows forms and answers, and nothing of what the work behind them is.
"""
