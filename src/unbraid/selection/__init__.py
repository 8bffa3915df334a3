"""Many runs at once: the engines that carry out tasks on one machine or many."""

from unbraid.selection.cluster import RayEngine
from unbraid.selection.engine import Engine, Outcome, Task, make_engine
from unbraid.selection.processes import ProcessEngine

__all__ = ["Engine", "Outcome", "ProcessEngine", "RayEngine", "Task", "make_engine"]
