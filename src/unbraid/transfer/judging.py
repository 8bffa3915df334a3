"""From the cells of a row to one word about a bias (Schott, 2021, chapter 3, completed)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from unbraid.evaluation import Verdict
from unbraid.transfer.effects import Effect, Word

__all__ = ["IID", "tell_verdicts", "verdict"]

IID = "iid"
"""The scenario that leaves nothing; it decides only whether a bias is costly."""


def verdict(cells: Mapping[str, Effect] | Sequence[Effect], own: Collection[str]) -> Verdict:
    """What a bias buys, from its effects against the vanilla twin; ``own`` are the scenarios that it was made for.

    A bias is better on its own if at least one own scenario is better; own ones that are not count with the others.

    - **transferable**: better on its own and on every other scenario;
    - **broad**: better on its own and some others, worse on none;
    - **specific**: better on its own, the others unchanged;
    - **overfitting**: better on its own, worse on at least one other;
    - **costly**: better on its own, worse without leaving the training domain (``iid``), worse on no other;
    - **without effect**: not better on its own; **harmful**: worse there;
    - **undecided** where cells with too few seeds could turn the word: an own one that may yet be better, or any other
      unless the bias is overfitting already; **cannot say** where no own scenario is there.
    """
    rows = list(cells.values()) if isinstance(cells, Mapping) else list(cells)
    words: dict[str, Word] = {one.scenario: one.word for one in rows}
    numbers = {one.scenario: one.mean for one in rows}
    mine = {name: words[name] for name in words if name in own}
    iid = words.get(IID, "unchanged")
    if not mine:
        wanted = ", ".join(own) or "none named"
        return Verdict("cannot say", numbers, f"none of its own scenarios was measured ({wanted})")
    better = _with(mine, "better")
    if not better:
        if unknown := _with(mine, "undecided"):  # which may be better yet
            return Verdict("undecided", numbers, f"too few seeds on its own {_list(unknown)}")
        if _with(mine, "worse"):
            return Verdict("harmful", numbers, f"worse on its own {_list(_with(mine, 'worse'))}")
        return Verdict("without effect", numbers, f"not better on its own {_list(list(mine))}")
    rest = {name: word for name, word in words.items() if name not in better and name != IID}
    cost = "; worse without leaving the training domain" if iid == "worse" else ""
    began = f"better on its own {_list(better)}"
    if worse := _with(rest, "worse"):
        return Verdict("overfitting", numbers, f"{began}, worse on {_list(worse)}{cost}")
    if unknown := [*_with(rest, "undecided"), *([IID] if iid == "undecided" else [])]:
        return Verdict("undecided", numbers, f"{began}{cost}; too few seeds on {_list(unknown)}")
    if cost:
        return Verdict("costly", numbers, f"{began}{cost}")
    also, same = _with(rest, "better"), _with(rest, "unchanged")
    if not also:
        return Verdict("specific", numbers, f"{began}, nothing else changes ({_list(same) or 'nothing else asked'})")
    if same:
        return Verdict("broad", numbers, f"{began}, also on {_list(also)}; unchanged on {_list(same)}")
    return Verdict("transferable", numbers, f"{began}, and on every other: {_list(also)}")


def tell_verdicts(verdicts: Mapping[str, Verdict]) -> str:
    """Which biases earn which word, all words of this kind that were found, best first.

    >>> tell_verdicts({"louder": Verdict("harmful"), "softer": Verdict("broad"), "slower": Verdict("harmful")})
    'transferable: none; broad: softer; harmful: louder, slower.'
    """
    found = {word: [name for name, told in verdicts.items() if told.word == word] for word in _WORDS}
    told = [f"{word}: {_list(names) or 'none'}" for word, names in found.items() if names or word == _WORDS[0]]
    return "; ".join(told) + "."


_WORDS = (
    *("transferable", "broad", "specific", "costly", "overfitting"),
    *("without effect", "harmful", "undecided", "cannot say"),
)


def _with(words: Mapping[str, Word], word: Word) -> list[str]:
    return [name for name, found in words.items() if found == word]


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
