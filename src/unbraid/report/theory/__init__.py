"""Pictures of the theory: theorems, experiments and models under it."""
