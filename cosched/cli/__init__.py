"""The command line: `cosched NOUN VERB`. Each noun is a module with `app`, each command one with `command`."""
