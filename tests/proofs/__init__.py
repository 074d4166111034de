"""
The long proofs: `make proofs`. Each says what it tried, its figures and its seconds.

docs/proof/README.md says what each does and what its figures mean.
"""
