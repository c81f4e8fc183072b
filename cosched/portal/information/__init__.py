"""The domain in the terms of grids' information systems: GLUE 2.0 as XML and LDIF."""
