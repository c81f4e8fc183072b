"""Other people's solvers, told what we know of a problem; nothing here is ours but the models."""
