"""Text to syntax trees: grammars, LALR tables, tree building and error recovery. Start at `parse.py`."""
