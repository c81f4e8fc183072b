"""Documents, times as text and problems, shared by client, server and pages.

This package imports no web framework.
"""
