"""Places for tasks: hosts, whole or shared, what occupies them, and which tasks may take some now."""
