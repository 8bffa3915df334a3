"""Many tasks at once, on this machine's processes or on a Ray cluster, behind one interface."""

from unbraid.engines.cluster import RayEngine
from unbraid.engines.engine import Engine, EngineName, Outcome, Task, describe_error, make_engine, perform
from unbraid.engines.inline import InlineEngine
from unbraid.engines.processes import ProcessEngine

__all__ = [
    "Engine",
    "EngineName",
    "InlineEngine",
    "Outcome",
    "ProcessEngine",
    "RayEngine",
    "Task",
    "describe_error",
    "make_engine",
    "perform",
]
