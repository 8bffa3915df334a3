"""What every data set can be asked for by name through this package: ``sprites32:corruption=fog:severity=3``."""

from unbraid.corruptions._dataset import corrupted
from unbraid.data import register_wrapper

register_wrapper(corrupted)
