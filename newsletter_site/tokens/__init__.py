"""
API tokens: a program may do what one user may, or less.

A token is shown once, when it is made. The table has its SHA-256, which is enough because the token
holds 256 random bits.
"""
