"""Experiments after Lee and Weissman's paper on resource harvesting, a module each."""
