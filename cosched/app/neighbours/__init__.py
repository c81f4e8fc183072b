"""Application services between neighbouring domains: who they are, what is offered to them, and their tasks here."""
