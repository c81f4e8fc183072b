"""Who answers "how long on n hosts?": models, the user, and what runs have taught."""
