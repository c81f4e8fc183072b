"""Which tasks leave now: starts of the plan, limits that hold tasks back, and the dispatcher."""
