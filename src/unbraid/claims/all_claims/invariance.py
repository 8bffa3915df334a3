"""Jacobsen et al. (2019): what bijective classifiers ignore, and what independence cross-entropy does about it."""

from __future__ import annotations

from collections.abc import Mapping

from unbraid.claims.all_claims._reading import of_seeds, pairs, rows
from unbraid.claims.claim import Tables, claim, printed
from unbraid.claims.conditions import X
from unbraid.claims.limits import at_least, at_most, near
from unbraid.claims.measured import Measured, Numbers, Share, Values
from unbraid.claims.rules import E, F, P, V
from unbraid.claims.sources import source

WORK = "Jacobsen et al. 2019"


@claim(
    "invariance/misaligned-rule",
    source(WORK, "example 6"),
    "A rule blind to the last coordinate is perfect on spheres, and at chance once inner points move along it",
    groups=("exact",),
    cells={"exact": {"question": ("misaligned",)}},
    rules={f"d = {d}": X({"before": at_least(0.9999), "after": near(0.5, 0.01)}) for d in (100, 500)},
    published=printed("", "accuracy", before=1.0, after=0.5),
    known="1.0, .499, .497",
    data="exact",
)
def misaligned(tables: Tables) -> Mapping[str, Measured]:
    found = rows(tables, "exact", question="misaligned")
    return {f"d = {row['d']}": Numbers({"before": row["before"], "after": row["after"]}) for row in found.to_dicts()}


@claim(
    "invariance/spheres-nuisance-knows-label",
    source(WORK, "section 2.2", "appendix B.1"),
    "Logits and nuisances both classify the spheres without error",
    groups=("inv-spheres",),
    rules={"nuisances": V(0.95), "logits": V(0.95)},
    published=printed("", "accuracy", nuisances=1.0, logits=1.0),
    of_contrast={"nuisances": 1.0, "logits": 1.0},
    known="99 % or more, and 99.9 %",
    data="rendered",
)
def spheres_nuisance_knows_label(tables: Tables) -> Mapping[str, Measured]:
    return {
        "nuisances": Values(of_seeds(tables, "inv-spheres", "nuisance_accuracy")),
        "logits": Values(of_seeds(tables, "inv-spheres", "logit_accuracy")),
    }


@claim(
    "invariance/metamers-cross-spheres",
    source(WORK, "figure 3"),
    "Inner points move to the outer sphere with all logits kept; wide sectors of such planes are misread",
    groups=("inv-spheres",),
    rules={"inner points with a metamer on the outer sphere": F(0.95), "metamer planes minus random planes": P(0.05)},
    known="500 of 500; 23 % against .1 %; raw metamers leave both spheres",
    data="rendered",
)
def metamers_cross_spheres(tables: Tables) -> Mapping[str, Measured]:
    table = rows(tables, "inv-spheres")
    hits, asked = (int(table[name].sum()) for name in ("crossed", "asked"))
    metameric, random = (of_seeds(tables, "inv-spheres", name) for name in ("metamer_planes", "random_planes"))
    return {
        "inner points with a metamer on the outer sphere": Share(hits, asked),
        "metamer planes minus random planes": pairs(metameric, random),
    }


def _mnist(tables: Tables, column: str, objective: str, times: float = 100) -> dict[int, float]:
    return of_seeds(tables, "inv-mnist", column, times=times, objective=objective)


@claim(
    "invariance/ce-nuisance-keeps-label",
    source(WORK, "table 2"),
    "After cross-entropy the nuisances still hold the label: error .34 % (chance 90 %)",
    groups=("inv-mnist",),
    cells={"inv-mnist": {"objective": ("firevnet",)}},
    rules={"accuracy of a new nuisance classifier": V(0.9)},
    published=printed("%", "MNIST, error", nuisances=0.34, chance=90.0),
    of_contrast={"accuracy of a new nuisance classifier": 0.9966},
    known="toy .997 of .998",
    data="real",
)
def ce_nuisance_keeps_label(tables: Tables) -> Mapping[str, Measured]:
    errors = _mnist(tables, "nuisance_test_error", "firevnet", 1)
    return {"accuracy of a new nuisance classifier": Values({seed: 1 - error for seed, error in errors.items()})}


@claim(
    "invariance/ice-empties-nuisance",
    source(WORK, "table 2"),
    "iCE raises the nuisance error .34 -> 27.7 % at the same logit error (.39, .38)",
    groups=("inv-mnist", "inv-toy"),
    rules={"nuisance error, iCE minus CE": P(7), "logit error, iCE minus CE": E(1.5)},
    published=printed("%", "MNIST, cross-entropy", nuisance_error=0.34, logit_error=0.39)
    + printed("%", "MNIST, iCE", nuisance_error=27.7, logit_error=0.38),
    of_contrast={"nuisance error, iCE minus CE": 27.36, "logit error, iCE minus CE": -0.01},
    known="toy accuracy .997 -> .59 to .63",
    data="real",
    unit="points",
)
def ice_empties_nuisance(tables: Tables) -> Mapping[str, Measured]:
    found: dict[str, Measured] = {
        f"{word} error, iCE minus CE": pairs(
            *(_mnist(tables, f"{word}_test_error", one) for one in ("ice", "firevnet"))
        )
        for word in ("nuisance", "logit")
    }
    toy = {way: of_seeds(tables, "inv-toy", "nuisance_accuracy", way=way) for way in ("CE", "iCE")}
    return found | {"toy, nuisance accuracy, CE minus iCE": pairs(toy["CE"], toy["iCE"])}


@claim(
    "invariance/ice-metamers-keep-class",
    source(WORK, "figure 6"),
    "Metamers of iCE networks keep their class, those of cross-entropy networks take the donor's",
    groups=("inv-toy", "inv-mnist"),
    rules={"toy, metamers that show their logits' class, iCE minus CE": P(0.1)},
    known=".995 to .998 against .40 to .82; without likelihood .67",
    data="toy",
)
def ice_metamers_keep_class(tables: Tables) -> Mapping[str, Measured]:
    toy = {way: of_seeds(tables, "inv-toy", "metamer_agreement", way=way) for way in ("CE", "iCE")}
    digits = [_mnist(tables, "metamer_as_logits", one, 1) for one in ("ice", "firevnet")]
    return {
        "toy, metamers that show their logits' class, iCE minus CE": pairs(toy["iCE"], toy["CE"]),
        "digits by a proxy": pairs(*digits),
    }


@claim(
    "invariance/theorem-8",
    source(WORK, "theorem 8", "appendix A.1"),
    "If the nuisances know nothing of the class and a shift does not change that, the logits know as much as before",
    groups=("exact",),
    cells={"exact": {"question": ("theorem-8",)}},
    rules={
        "as printed": X({"largest change of I(y; z_s)": at_most(1e-9)}),
        "with joint independence": X({"largest change of I(y; z_s)": at_most(1e-9)}),
    },
    known="a table that meets the premise falls .368 -> 0: not reproduced as printed; holds with joint independence",
    data="exact",
    notes=("the proof uses that z_n is independent of (y, z_s) jointly, which the statement does not say",),
)
def theorem_8(tables: Tables) -> Mapping[str, Measured]:
    table = rows(tables, "exact", question="theorem-8", premise=True)
    change = (table["after"] - table["before"]).abs()
    return {
        "as printed": Numbers({"largest change of I(y; z_s)": float(change.to_numpy().max())}),
        "with joint independence": Numbers(
            {"largest change of I(y; z_s)": float(change.filter(table["joint"]).to_numpy().max())}
        ),
    }
