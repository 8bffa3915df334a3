"""Every published table, figure or finding that can be computed, as an executable claim at three scales."""
