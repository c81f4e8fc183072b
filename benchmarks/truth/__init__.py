"""How true predictions of real programs are."""
