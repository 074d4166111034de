"""`./homing demo`: publish and deliver a sample issue on this machine.

The function `run` in `run_demo.py` contains the steps.
"""
