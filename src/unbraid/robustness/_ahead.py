"""Make the next batch while this one is used."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["ahead"]

T = TypeVar("T")


def ahead(tasks: Iterable[Callable[[], T]], count: int = 2) -> Iterator[T]:
    """The results of tasks in their order, up to ``count`` of them made in a thread before they are asked for.

    It pays because both sides let go of Python's lock: compiled loops over pixels, and torch's layers.

    >>> list(ahead([lambda: 1, lambda: 2]))
    [1, 2]
    """
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
