"""Steps of the searches in machine code: genetic operators, local search, first plans."""
