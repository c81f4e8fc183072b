"""Predictions answer how long a task runs on n hosts.

Start at `profile.py`; `model_predictor.py` evaluates models, `calibration.py` learns from runs, `catalogue.py` holds
applications. `loads/` reckons with hosts that are not ours alone.
"""
