"""The claims, one file per area."""
