"""Score a model or a table of codes by many metrics at once."""

import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unbraid.errors import UsageError, unknown_name
from unbraid.metrics._encode import (
    Encoded,
    FactorData,
    Images,
    MeasuredData,
    Representation,
    encode_index,
    encoder_of,
    is_stochastic,
)
from unbraid.metrics._interventions import Plan, Sampling
from unbraid.metrics._presets import PresetName, preset_named
from unbraid.metrics._registry import METRICS, Metric, Needs, choose
from unbraid.metrics._remember import remembering
from unbraid.metrics._score import Score, check_arrays, check_codes, check_kinds, generator
from unbraid.metrics._scores import Scores
from unbraid.metrics._source import PlainData, source_of, without_factors

__all__ = ["evaluate", "score_codes"]

_Sample = tuple[np.ndarray, np.ndarray | None]
_FROM_CODES: tuple[Needs, ...] = ("codes", "sample", "train and test")
_PARTS = ("train", "test", "beta_vae", "factor_vae", "counted", "strong", "unfairness")
"""What images are drawn for: independent ones, interventional scores; a part's place decides its chance."""
_SET_BY_CALLER = ("codes", "factors", "encode", "data", "test", "seed", "batch", "train", "plain")
"""Arguments of scores that the evaluation decides, so that they cannot be options of a single one."""


def evaluate(
    run_or_encode: Any,
    data: FactorData | MeasuredData | PlainData,
    metrics: str | Iterable[str] = "all",
    *,
    preset: PresetName = "study",
    representation: Representation = "mean",
    train: int | None = None,
    test: int | None = None,
    batch: int | None = None,
    points: tuple[int, int] | None = None,
    counted: int | None = None,
    use_kinds: bool = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    batch_size: int = 1024,
    progress: Callable[[str], None] | None = None,
) -> Scores:
    """Scores of an encoder on a data set, by name; every distinct image is encoded once and serves all of them.

    ``run_or_encode`` is a run, a torch module on floats ``[n, c, h, w]`` in [0, 1] (its ``encode`` if it has one), or a
    function from uint8 images ``[n, h, w, c]`` or from such floats to codes ``[n, d]``. All images are drawn first:
    ``train`` and ``test`` independent ones, and for the two interventional scores ``points`` groups (training and test;
    by default as many as images) of ``batch`` images each, which is nearly all of the work. How many these are is said
    by ``preset``: ``study`` has the 10,000, 5,000 and 64 of the published study, ``fast`` 2,000 and 1,000 with 500 and
    250 groups of 32 for a quick look, ``full`` the study's and ``counted=100_000`` images for those scores that count.
    A number that is given wins over the preset's. Where images depend on chance, or codes do
    (``representation="sampled"``, one draw from the posterior), every draw is encoded for itself, and ``batch_size``
    takes part in deciding the draws. Leaving a score out changes no other. ``"all"`` are the usual ones; others come
    when they are named: ``["all", "med"]``.

    ``use_kinds=True`` passes the kinds of the factors to the scores that use order; the default takes all factors as
    ordinal, as published numbers do. ``options`` holds more arguments by name of the score:
    ``{"mig": {"bins": 40}}``. ``progress`` is told what is being done, while encoding after every batch. Each score's
    settings tell its ``seconds`` and the time spent encoding.

    The codes of a run may be of a few values for each latent (``discrete_codes``); scores that count then take these
    values as they are instead of cutting bins, unless ``options`` say otherwise.

    Where factors are known but no full grid (a part of a data set, a table of one's own) all scores of samples apply,
    but not the two that choose factor values themselves; factors that do not vary among the images drawn are left out,
    and the setting ``factors`` names the others. Measured, continuous factors are taken as they are by ``mcc``, ``r2``
    and ``disentanglement_score`` and cut into ten bins of equal counts for all others, which say so in their settings.
    Where there are classes and no factors, the class is the factor, a categorical one. On data without either, or with
    all factors fixed, only the scores of the codes alone apply, and none to a single image.

    The result's ``not_possible`` tells which of the scores could not be had, and why; it is an error if it is all.
    """
    if hasattr(run_or_encode, "check_data"):
        run_or_encode.check_data(data)  # a run knows on which split it was trained
    usual = preset_named(preset)
    train, test, batch, counted = (
        getattr(usual, name) if given is None else given
        for name, given in (("train", train), ("test", test), ("batch", batch), ("counted", counted))
    )
    points = usual.points if points is None else points
    chosen = choose(metrics, (*_FROM_CODES, "interventions"))
    _refuse_models(chosen)
    source = source_of(data)
    impossible = source.impossible(chosen)
    left = [entry for entry in chosen if entry.name not in impossible]
    chosen = source.applicable(left or chosen, representation, by_name=not _has_all(metrics))
    given = _check_options(options, chosen)
    counted_values = getattr(run_or_encode, "discrete_codes", False)  # a run knows what its codes are like
    extra = {
        e.name: {**usual.options.get(e.name, {}), **(e.discrete if counted_values else {}), **given.get(e.name, {})}
        for e in chosen
    }
    if not chosen:
        return Scores()
    tested = source.space is not None or any(entry.needs == "train and test" for entry in chosen)
    if train < 2 or (tested and min(test, batch) < 2):
        asked = "train, test and batch" if tested else "train"
        came = (train, test, batch) if tested else (train,)
        raise UsageError(f"{asked} must be at least 2, got {', '.join(map(str, came))}")
    encoder_of(run_or_encode, representation)  # refuse what cannot encode before anything is drawn
    if counted is not None and counted < 2:
        raise UsageError(f"counted must be at least 2, got {counted}")
    say = progress or (lambda _: None)

    rng = generator(seed)
    drawn: dict[str, np.ndarray] = {"train": source.draw(train, rng)}
    if tested:
        drawn["test"] = source.draw(test, rng)
    if counted is not None and any(entry.counts for entry in chosen):
        drawn["counted"] = source.draw(counted, generator(seed))
    factors, varying = source.varying(drawn)
    # Each score draws from its own generator: leaving one out does not change the others.
    sampling = Sampling(train, test, batch, points)
    plans: dict[str, Plan] = {}
    for entry in chosen:
        if source.space is not None and entry.plan is not None:
            plans[entry.name] = entry.plan(source.space, sampling, seed=seed, **extra[entry.name])
            drawn[entry.name] = plans[entry.name].index

    began = time.perf_counter()
    parts = _encode(run_or_encode, data, drawn, representation, seed, batch_size, say)
    about: dict[str, Any] = {"representation": representation, "encoding_seconds": time.perf_counter() - began}

    if len(varying) < len(source.names):
        about["factors"] = [source.names[k] for k in varying]
    samples: dict[str, _Sample] = {part: (parts[part][:], factors.get(part)) for part in ("train", *factors)}
    held_out = (parts["test"][:], factors["test"]) if "test" in factors else None
    kinds = tuple(source.kinds[k] for k in varying) if use_kinds or source.by_class else None

    def score(entry: Metric) -> Score:
        if entry.name in plans:
            return plans[entry.name].score(parts[entry.name])
        seen = samples["counted" if entry.counts and "counted" in samples else "train"]
        return entry.score(*seen, test=held_out, kinds=kinds, seed=seed, options=extra[entry.name])

    return _score_all(chosen, score, given, impossible, say, about)


def _has_all(metrics: str | Iterable[str]) -> bool:
    return metrics == "all" or (not isinstance(metrics, str) and "all" in metrics)


def _score_all(
    chosen: Sequence[Metric],
    score: Callable[[Metric], Score],
    extra: Mapping[str, Mapping[str, Any]],
    impossible: Mapping[str, str],
    say: Callable[[str], None],
    about: Mapping[str, Any],
) -> Scores:
    """Each score and how long it took. One that refuses the sample does not cost the others, unless none is left."""
    scores = Scores(not_possible=impossible)
    with remembering():
        _score_each(chosen, score, extra, scores, say, about)
    if chosen and not scores:
        raise UsageError("; ".join(f"{name}: {why}" for name, why in scores.not_possible.items()))
    return scores


def _score_each(
    chosen: Sequence[Metric],
    score: Callable[[Metric], Score],
    extra: Mapping[str, Mapping[str, Any]],
    scores: Scores,
    say: Callable[[str], None],
    about: Mapping[str, Any],
) -> None:
    for entry in chosen:
        say(entry.name)
        began = time.perf_counter()
        try:
            found = score(entry)
        except UsageError as error:
            if len(chosen) == 1 or entry.name in extra:  # nothing else was asked for, or its option is at fault
                raise
            scores.not_possible[entry.name] = str(error)
        else:
            scores[entry.name] = found.with_settings(seconds=time.perf_counter() - began, **about)


def _encode(
    run_or_encode: Any,
    data: Images,
    drawn: Mapping[str, np.ndarray],
    representation: Representation,
    seed: int,
    batch_size: int,
    say: Callable[[str], None],
) -> dict[str, Encoded]:
    """The codes of each part of the drawn positions."""
    if representation == "sampled" or is_stochastic(data):
        # Each part has a stream of chance of its own, so that no part depends on which others were asked for.
        return {
            part: encode_index(
                encoder_of(run_or_encode, representation, (seed, _place(part))),
                data,
                index,
                every_draw=True,
                seed=(seed, _place(part)),
                batch_size=batch_size,
                progress=say,
            )
            for part, index in drawn.items()
        }
    index = np.concatenate(list(drawn.values()))
    codes = encode_index(encoder_of(run_or_encode), data, index, batch_size=batch_size, progress=say)
    ends = np.cumsum([len(index) for index in drawn.values()])
    return {part: codes.part(slice(end - len(drawn[part]), end)) for part, end in zip(drawn, ends, strict=True)}


def _place(part: str) -> int:
    """The number of a part's stream of chance; that of an own interventional score comes from its name."""
    return _PARTS.index(part) if part in _PARTS else len(_PARTS) + zlib.crc32(part.encode())


def score_codes(
    codes: ArrayLike,
    factors: ArrayLike | None = None,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    metrics: str | Iterable[str] = "all",
    kinds: Sequence[str] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Scores:
    """Scores of codes ``[n, d]`` from anywhere against their factors ``[n, K]``, by name.

    Without factors only the scores of the codes alone apply, and they are ``"all"``.
    Scores that fit something use ``test`` if given and otherwise split two to one. The two interventional scores need
    an encoder and UDR several models; they are not among ``"all"`` here. ``options`` as in :func:`evaluate`.
    """
    chosen = choose(metrics, _FROM_CODES)
    _refuse_models(chosen)
    for entry in chosen:
        if entry.needs == "interventions":
            raise UsageError(f"{entry.name} draws its own images; call unbraid.metrics.{entry.name}(encode, data)")
    if factors is None:
        chosen = without_factors(chosen, by_name=not _has_all(metrics))
    sample: _Sample = (check_codes(codes), None)
    if factors is not None:
        sample = check_arrays(codes, factors, measured=True)
    if kinds is not None and sample[1] is not None:
        check_kinds(kinds, sample[1])
    extra = _check_options(options, chosen)

    def score(entry: Metric) -> Score:
        return entry.score(*sample, test=test, kinds=kinds, seed=seed, options=extra.get(entry.name))

    return _score_all(chosen, score, extra, {}, progress or (lambda _: None), {})


def _refuse_models(chosen: Iterable[Metric]) -> None:
    for entry in chosen:
        if entry.needs == "models":
            raise UsageError(f"{entry.name} compares several models; call unbraid.metrics.{entry.name} itself")


def _check_options(
    options: Mapping[str, Mapping[str, Any]] | None, chosen: Sequence[Metric]
) -> Mapping[str, Mapping[str, Any]]:
    options = options or {}
    for name in options:
        if METRICS[name] not in chosen:
            raise UsageError(f"options are given for {name!r}, which is not among the chosen metrics")
        offered = [key for key in signature(METRICS[name].function).parameters if key not in _SET_BY_CALLER]
        for option in options[name]:
            if option not in offered:
                raise unknown_name(f"option of {name}", option, offered)
    return options
