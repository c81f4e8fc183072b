"""Answer people's questions about predictions: explanation, sweeps of parameters, stated uncertainty."""
