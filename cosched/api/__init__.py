"""What client, server and pages share: documents, times as text, problems. Imports no web framework."""
