"""The long proofs of `make proofs`, which docs/proof/README.md describes."""
