"""
Tokens of the API: a program's way to do what one person may, or less.

A token is shown once, when it is made. What is kept is its SHA-256, which is enough because the
token holds 256 random bits that nobody can guess.
"""
