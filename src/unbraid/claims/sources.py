"""The works whose claims are held to runs, and the tables, figures and sections that claims come from."""

from __future__ import annotations

from dataclasses import dataclass

from unbraid.errors import UsageError, unknown_name

__all__ = ["SOURCES", "WORKS", "Source", "Work", "source"]


@dataclass(frozen=True)
class Work:
    """A publication."""

    name: str
    title: str
    source: str
    """Which of the five sources it is, or is a part of."""
    places: tuple[str, ...]
    """Tables, figures and sections of it that claims name."""


SOURCES = ("Locatello et al. 2019", "Estermann et al. 2020", "Schott 2021", "Zietlow 2022", "Jacobsen et al. 2019")
"""In the order of the page."""

WORKS = {
    work.name: work
    for work in (
        Work(
            "Locatello et al. 2019",
            "Challenging common assumptions in the unsupervised learning of disentangled representations, ICML",
            "Locatello et al. 2019",
            (
                *("theorem 1", "figure 1", "figure 2", "figure 5", "figure 6"),
                *("result 3", "result 4", "tables of explained variance", "conclusion 1", "conclusion 3"),
            ),
        ),
        Work(
            "Estermann et al. 2020",
            "Robust disentanglement of a few factors at a time (rPU-VAE), NeurIPS",
            "Estermann et al. 2020",
            (
                *("figure 1a", "figure 1b", "figure 2", "figure 4", "figure 5", "figure 6"),
                *("section 3.1", "section 3.2", "section 4.1"),
            ),
        ),
        Work(
            "Klindt et al. 2021",
            "Towards nonlinear disentanglement in natural data with temporal sparse coding, ICLR",
            "Schott 2021",
            (
                *("theorem 1", "figure 6", "figure 7", "figure 13", "thesis figure 2.2"),
                *(f"table {number}" for number in (1, 2, 5, 14, 15, 16, 21, 22)),
            ),
        ),
        Work(
            "Schott et al. 2022",
            "Visual representation learning does not generalize strongly within the same domain, ICLR",
            "Schott 2021",
            (
                *("figure 4", "figure 5", "figure 6", "figure 7", "section 5.2", "section 5.3", "section 5.4"),
                *("appendix A", *(f"table {number}" for number in (1, 5, 6, 7, 8, 9))),
            ),
        ),
        Work(
            "Rusak et al. 2020",
            "A simple way to make neural networks robust against diverse image corruptions, ECCV",
            "Schott 2021",
            (
                *("table 1", "table 2", "table 3", "figure 2"),
                *("supplementary table 6", "supplementary table 7", "supplementary figure 2"),
            ),
        ),
        Work(
            "Schott et al. 2019",
            "Towards the first adversarially robust neural network model on MNIST, ICLR",
            "Schott 2021",
            ("table 1", "figure 4", "section 4", "section 5", "section 7"),
        ),
        Work(
            "Schott 2021",
            "Doctoral thesis, chapter 3: how the biases of its four papers transfer and combine",
            "Schott 2021",
            ("section 3.1", "section 3.1.1", "section 3.1.3", "section 3.2"),
        ),
        Work(
            "Zietlow 2022",
            "Doctoral thesis: why VAEs align with principal directions, and how to make them not",
            "Zietlow 2022",
            (
                *("section 3.2.4", "chapter 5", "chapter 6", "theorem 2", "figure 2.3", "figure 3.4", "figure 3.7"),
                *("table 3.2", "table 3.3", "table 3.4", "table 4.2"),
            ),
        ),
        Work(
            "Jacobsen et al. 2019",
            "Excessive invariance causes adversarial vulnerability, ICLR",
            "Jacobsen et al. 2019",
            (
                *("example 6", "theorem 8", "appendix A.1", "appendix B.1", "section 2.2"),
                *("figure 3", "figure 6", "table 2"),
            ),
        ),
    )
}


@dataclass(frozen=True)
class Source:
    """Where a claim stands: a work, and places in it."""

    work: str
    places: tuple[str, ...]

    @property
    def part_of(self) -> str:
        """The source that the work belongs to."""
        return WORKS[self.work].source

    def __str__(self) -> str:
        return f"{self.work}, {', '.join(self.places)}"


def source(work: str, *places: str) -> Source:
    """A source whose work and places are known."""
    if work not in WORKS:
        raise unknown_name("work", work, WORKS)
    if not places:
        raise UsageError(f"a claim stands at some place of {work}: name a table, figure or section")
    for place in places:
        if place not in WORKS[work].places:
            raise unknown_name(f"place in {work}:", place, WORKS[work].places)
    return Source(work, places)
