"""
The long proofs of `make proofs`, as docs/proof/README.md describes them.
"""
