"""What people ask of predictions: explanation, sweeps of parameters, stated uncertainty."""
