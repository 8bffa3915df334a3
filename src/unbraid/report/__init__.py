"""Pictures: contact sheets of data sets, traversals of runs, which code knows which factor."""
