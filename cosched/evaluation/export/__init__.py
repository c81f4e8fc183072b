"""Traces for viewers: Chrome's JSON and the Pajé format."""
