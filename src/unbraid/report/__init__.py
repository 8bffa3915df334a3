"""unbraid."""
