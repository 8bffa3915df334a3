"""The run groups, one file per area."""
