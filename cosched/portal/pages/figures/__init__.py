"""Pages of figures over time: how busy hosts were and will be, which deadlines were met, how right predictions were."""
