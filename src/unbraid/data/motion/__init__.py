"""How factors move: laws, transitions, tracks and the pairs made of them."""
