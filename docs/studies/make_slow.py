"""Write docs/studies/slow/ from the folder of a finished study.

unbraid study run slow --out studies/slow
python docs/studies/make_slow.py studies/slow
"""

import argparse
import textwrap
from pathlib import Path

import polars as pl
from scipy.stats import ttest_ind_from_stats

from unbraid.evaluation import Verdict, told, verdict
from unbraid.study import PRESETS, Study, open_study, read_study, write_table
from unbraid.study.analysis import (
    markdown_scores,
    mean_ranks,
    method_of,
    method_scores,
    plot_mean_ranks,
    plot_method_scores,
    published_scores,
    run_tests,
    save_figure,
)

SLOW = "slow-vae"
RIVALS = ("ada-gvae", "pcl", "beta-vae")
NORMAL = ("gaussian-slow-vae", "pm-vae")
HERE = Path(__file__).parent / "slow"
EARLIER = (
    "This was an earlier preset of that name; today's is another study, which is what `unbraid study run {0}` trains."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="folder of the study")
    folder = open_study(parser.parse_args().study)
    HERE.mkdir(exist_ok=True)
    table = complete(pl.read_parquet(write_table(folder)), folder.study)
    table.write_parquet(HERE / "table.parquet")
    rivals, priors = compared(table)
    for name, scores in (("rivals", rivals), ("priors", priors)):
        save_figure(plot_method_scores(scores), HERE / f"{name}.png")
        save_figure(plot_mean_ranks(mean_ranks(scores)), HERE / f"{name}-ranks.png")
    (HERE / "report.md").write_text(report(folder.study.name, table), encoding="utf-8")
    print(f"wrote {HERE / 'report.md'}")


def groups(table: pl.DataFrame) -> tuple[list[str], list[str]]:
    """The methods that SlowVAE is compared with, whatever strengths they have: its rivals, and other priors."""
    methods = table.select("objective", method_of()).unique(maintain_order=True).rows()
    rivals = [name for objective, name in methods if objective in RIVALS]
    return rivals, [name for objective, name in methods if objective in (*NORMAL, SLOW) and name != SLOW]


def complete(table: pl.DataFrame, study: Study) -> pl.DataFrame:
    """The data sets on which every run of the study is done; an error if there is none."""
    done = table.filter(pl.col("status") == "evaluated")
    whole = len(study.settings) * len(study.seeds)
    kept = [name for name in study.data if done.filter(pl.col("data") == name)["index"].n_unique() == whole]
    if not kept:
        raise SystemExit(f"no data set has all its {whole} runs yet: unbraid study status")
    if len(kept) < len(study.data):
        print(f"incomplete, left out: {', '.join(set(study.data) - set(kept))}")
    return done.filter(pl.col("data").is_in(kept))


def compared(table: pl.DataFrame) -> list[pl.DataFrame]:
    """Scores of SlowVAE beside its rivals, and beside other priors."""
    return [method_scores(table, methods=[SLOW, *names]) for names in groups(table)]


def report(name: str, table: pl.DataFrame) -> str:
    """The page: what was done, what holds, and all numbers."""
    rivals, priors = compared(table)
    runs, seconds = table["index"].n_unique(), table.unique("index")["seconds"].sum()
    everything = method_scores(table)
    made = "made" if is_earlier(name, table) else "makes"
    parts = [
        f"# SlowVAE, its rivals and its prior: the study `{name}`",
        wrap(
            f"`unbraid study run {name} --out studies/{name}` {made} these {runs} runs ({table['steps'][0]:,} steps of "
            f"64 images each, so 32 pairs, images of 32x32 pixels, {table['seed'].n_unique()} seeds), and "
            f"`python docs/studies/make_slow.py studies/{name}` this page; training took {seconds / 3600:.1f} hours of "
            "a busy machine. All data sets are stand-ins made by unbraid, and training is "
            f"{300_000 / table['steps'][0]:.0f} times shorter than the published one: compare orders, not values."
        ),
        *([wrap(EARLIER.format(name))] if is_earlier(name, table) else []),
        "## What holds and what does not",
        verdicts(table, everything, rivals, priors),
        "## SlowVAE against methods on pairs and on single images",
        "![scores](rivals.png)",
        "![mean ranks](rivals-ranks.png)",
        markdown_scores(rivals).strip(),
        wrap(
            "Percent, mean (s.d.) over seeds; bold is above, italic below the next by a t-test (p < 0.05). The β-VAE "
            "sees single images, so its rows are the same for both protocols."
        ),
        "Published, on the real data sets at 64x64 pixels after 300,000 steps, ten seeds:",
        markdown_scores(published_scores((1,))).strip(),
        "## Other priors of the transitions",
        "![scores](priors.png)",
        "![mean ranks](priors-ranks.png)",
        markdown_scores(priors).strip(),
        "Published for PM-VAE (table 14):",
        markdown_scores(published_scores((14,)).filter(pl.col("method") == "pm-vae gamma 10")).strip(),
    ]
    return "\n\n".join(parts) + "\n"


def is_earlier(name: str, table: pl.DataFrame) -> bool:
    """Whether there is a preset of that name, and runs of the table that it does not have today."""
    if name not in PRESETS:
        return False
    names = ["index", "data", "objective", "strength_name", "strength", "seed", "net", "steps", "batch_size"]
    today = {
        (s.index, s.data, s.objective, s.parameter, s.strength, s.seed, s.net, s.steps, s.batch_size)
        for s in read_study(name)
    }
    return not set(table.select(names).rows()) <= today


def verdicts(table: pl.DataFrame, everything: pl.DataFrame, rivals: pl.DataFrame, priors: pl.DataFrame) -> str:
    """The claims of the paper, one line each with the numbers that decide it; undecided where seeds cannot tell."""
    judged: list[tuple[str, Verdict]] = []
    rival_names, prior_names = groups(table)
    for title, scores, names in (("its rivals", rivals, rival_names), ("other priors", priors, prior_names)):
        ranks = dict(mean_ranks(scores).select("method", "mean_rank").iter_rows())
        shown = ", ".join(f"{method} {rank:.2f}" for method, rank in ranks.items())
        cells = mean_ranks(scores)["cells"][0]
        tests = run_tests(table, methods=[SLOW, *names]).filter(pl.col("first") == SLOW)
        pairs = {
            other: (-difference, p) for other, difference, p in tests.select("second", "difference", "p_value").rows()
        }
        chance = ", ".join(f"{method} {p:.3f}" for method, (_, p) in pairs.items())
        sentence = (
            f"Mean ranks over {cells} cells: {shown}. Permutation tests of SlowVAE's runs, each with all its scores: "
            f"p = {chance}."
        )
        judged.append((f"SlowVAE has the best mean rank among {title}", verdict(answer(pairs), sentence, **ranks)))
    for words, others in (
        ("SlowVAE is ahead of its rivals in MCC", rival_names),
        ("A Laplace prior is ahead of normal ones in MCC", [n for n in prior_names if n.startswith(NORMAL)]),
    ):
        for data in everything["data"].unique(maintain_order=True):
            ahead = {other: against(everything, data, other) for other in others}
            judged.append((f"{words} on `{data}`", settled(ahead)))
    pairs_of = {data.partition(" @ protocol=")[2]: data for data in everything["data"].unique(maintain_order=True)}
    if {"lap", "uni"} <= set(pairs_of):
        lap, uni = (cell(everything, pairs_of[name], SLOW) for name in ("lap", "uni"))
        p = ttest_ind_from_stats(*(one[key] for one in (lap, uni) for key in ("mean", "sd", "runs"))).pvalue
        claim = "Steps as sparse as the prior expects (LAP) serve SlowVAE better than uniform ones (UNI)"
        sentence = f"MCC {100 * lap['mean']:.1f} against {100 * uni['mean']:.1f} (p = {p:.3f})."
        found = verdict(
            answer({"uni": (lap["mean"] - uni["mean"], float(p))}), sentence, lap=lap["mean"], uni=uni["mean"]
        )
        judged.append((claim, found))
    lines = [f"**{claim}**: {'. '.join(told(found))}" for claim, found in judged]
    return "\n".join(wrap("- " + line, "  ") for line in lines)


def against(scores: pl.DataFrame, data: str, other: str) -> tuple[float, float]:
    """How far SlowVAE's MCC is ahead, and the p-value of a t-test."""
    first, second = cell(scores, data, SLOW), cell(scores, data, other)
    groups = [entry[key] for entry in (first, second) for key in ("mean", "sd", "runs")]
    return first["mean"] - second["mean"], float(ttest_ind_from_stats(*groups).pvalue)


def cell(scores: pl.DataFrame, data: str, method: str) -> dict[str, float]:
    return scores.filter(data=data, metric="mcc", method=method).row(0, named=True)


def settled(ahead: dict[str, tuple[float, float]]) -> Verdict:
    """A claim about differences to several methods, each with its p-value: what the seeds say of it."""
    shown = (f"to {other} {100 * difference:+.1f} (p = {value:.3f})" for other, (difference, value) in ahead.items())
    return verdict(
        answer(ahead), f"Differences in percent: {', '.join(shown)}.", **{name: d for name, (d, _) in ahead.items()}
    )


def answer(ahead: dict[str, tuple[float, float]]) -> bool | None:
    """Yes if ahead of all by p < 0.05, no if behind one, neither if the seeds do not tell."""
    if any(difference < 0 and value < 0.05 for difference, value in ahead.values()):
        return False
    return True if all(difference > 0 and value < 0.05 for difference, value in ahead.values()) else None


def wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 130, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    main()
