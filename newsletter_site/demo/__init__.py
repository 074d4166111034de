"""`./homing demo`: publish and deliver a sample issue on this machine.

`run` has the steps.
"""
