"""Application models are made from sources and from runs."""
