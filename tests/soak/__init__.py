"""
The long runs that show what Homing promises about faults, times and speed: `python -m tests.soak`.

One module a proof; docs/proof/soak.md says what each does and what its figures mean.
"""
