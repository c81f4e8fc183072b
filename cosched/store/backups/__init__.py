"""The database is copied, checked and restored, and changes that it lost are noticed."""
