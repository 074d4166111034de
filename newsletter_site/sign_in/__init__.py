"""The one door: who may try to sign in, how often, and what is asked of them."""
