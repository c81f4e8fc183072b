"""The command line: `cosched NOUN VERB`.

Each noun is a module or package with `app`, each command one with `command`; `main.py` lists them.
"""
