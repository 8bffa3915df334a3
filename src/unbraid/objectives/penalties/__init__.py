"""What objectives with encoder and decoder can add to their loss. A file dropped into this folder is found."""

from unbraid.objectives.penalties.added import PART
from unbraid.objectives.penalties.base import Penalty, View, get, make, names, register
from unbraid.registry import import_modules

__all__ = ["PART", "Penalty", "View", "get", "make", "names", "register"]

import_modules(__name__)
