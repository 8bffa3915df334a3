"""What happens to a training batch before an objective sees it. A file dropped into this folder is found."""

from unbraid.objectives.augment.base import Augmentation, Scene, get, make, names, register
from unbraid.objectives.augment.batch import PART
from unbraid.registry import import_modules

__all__ = ["PART", "Augmentation", "Scene", "get", "make", "names", "register"]

import_modules(__name__)
