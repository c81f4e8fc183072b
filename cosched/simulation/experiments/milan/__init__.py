"""Experiments after Chang, Karamcheti and Kedem's paper on tunable applications (MILAN), a module each."""
