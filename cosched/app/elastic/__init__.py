"""Elastic tasks for those who ask: their workers, what leads are offered, and what leads say."""
