"""Figures about a domain, for API and pages alike."""
