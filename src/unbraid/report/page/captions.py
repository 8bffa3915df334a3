"""What each chart shows and what to look for in it, in plain words."""

from __future__ import annotations

__all__ = ["ANSWERS", "COMPARED", "DRAWN", "PREDICTED", "RUN", "STUDY"]


def _text(words: str) -> str:
    return " ".join(words.split())


RUN = {
    "crossed": _text(
        """A score is a matrix of latents by factors and what is made of it. Rows are three matrices (importance of
        boosted trees, information, accuracy of one latent), columns five aggregations; DCI, MIG, modularity and
        SAP are five of the fifteen cells. Look for whether a row or a column is of one shade: then the other choice
        matters less."""
    ),
    "merging": _text(
        """With the entries of a matrix from a threshold on as links, how many separate groups of latents and factors
        are there? Best is one per factor down to zero. In the trees factors begin at their strongest entry and join
        where they come to share latents: the further right, the less they are entangled; lines that reach the edge
        never meet."""
    ),
    "curves": _text(
        """Each point is a mean over the steps since the last one. Look for curves that have become flat: a loss still
        falling at the right edge means that more steps would change the model. A KL that stays near zero means that
        no latent learned anything; one that rises late means that latents are still waking up. Hover, or focus a
        chart and use the arrow keys, to read values."""
    ),
    "plain_curves": _text(
        """Each point is a mean over the steps since the last one. Look for curves that have become flat: a loss still
        falling at the right edge means that more steps would change the model. Hover, or focus a chart and use the
        arrow keys, to read values."""
    ),
    "reconstructions": _text(
        """Images of the data set, and under each what the decoder makes of its mean code. Look for what is lost:
        what is wrong or blurred in the lower image is what the code does not carry."""
    ),
    "walks": _text(
        """One latent moves, the others stay; each walk starts from the code of one image and goes through the middle
        98 % of where this latent lies for the data. Look for rows that change one thing only: that came
        apart. Two rows that change the same thing, or a row that changes two, did not. Move over a row to scrub it, or
        use the arrow keys on it; space plays."""
    ),
    "by_kl": "Sorted by KL, the information that a latent carries.",
    "by_spread": "Sorted by how much the codes of images differ in a latent.",
    "matched": "In blue the factor that a latent is matched with, where they correlate by more than a half.",
    "latents": _text(
        """How much information each latent carries about the image. Above {active} nats a latent counts as active;
        grey ones are dead and equal to the prior. Look at how many are active."""
    ),
    "too_few": "Fewer than there are factors means that some factor was given up or shares a latent.",
    "matrices": _text(
        """Rows are latents, most informative first; columns are factors. A representation that came apart has one
        strong cell in each column and no two in a row. Two strong cells in a row: one latent mixes two factors. Two
        in a column: a factor is spread over two latents. Dead latents have no shade: what they seem to know comes
        from codes that hardly move."""
    ),
    "scatters": _text(
        """Every factor is paired with one latent, no latent twice, so that the rank correlations add up to the most.
        A thin line, straight or bent, means that this one number tells the factor. A band or a cloud means that the
        latent also depends on something else, or does not depend on the factor at all. Factors without an order, and
        circles, score low here even when the latent follows them."""
    ),
    "scores": _text(
        """The filled bar is the value, the tick is the ceiling: what a perfect code would get with these factors and
        settings, which can lie well below 1. Look at how much of the way to the tick is filled, and do not trust one
        score alone: they disagree about what it means to come apart. A value above its ceiling is no error: where an
        estimator favours other codes (few samples, bins), a perfect one gets less."""
    ),
    "plain_scores": _text(
        """What can be said of the codes alone. For scores of what they know, data need factors or labels."""
    ),
    "corrupted": _text(
        """How much of each factor is still told from corrupted images, as a share of what clean ones tell: 1 is all of
        it, 0 no better than guessing, and an empty cell a factor that clean images do not tell either. A frame is round
        a factor that breaks before all others."""
    ),
    "measures": _text(
        """What else was asked of this run, and under which condition. `unbraid evaluate --measures NAME` adds to it."""
    ),
}

PREDICTED = {
    "classes": _text(
        """How much of each class is named right, and what the rest is taken for: every row of the matrix is a class and
        adds up to 100 %. Look for
        cells off the diagonal: classes that look alike to the model."""
    ),
    "factors": _text(
        """Each point is an image: the true value of a factor, scaled to [0, 1], against what the model says; on the
        diagonal it is right. Look for factors that are pulled towards the middle, and for those whose R² stays low:
        images may not show them, such as the orientation of a square."""
    ),
    "worst": _text(
        """The images with the largest loss, worst first. Look for labels that are wrong, images that nobody could tell,
        and what the others have in common."""
    ),
    "brackets": "In brackets: the probability that the model gives to the class it names.",
}

DRAWN = {
    "drawings": _text(
        """Each row is an image, and what the ten classes that explain it best would draw instead, best first. Under
        each: its class, its energy (squared distance to the image, summed over pixels, and half the squared length of
        the latent; the lowest decides) and its posterior, which is even where no class explains the image. Look for a
        wide gap between the first and the second energy, and for drawings of the right class that miss a stroke."""
    ),
    "bounds": _text(
        """No change of an image that is shorter than its bound changes what it is named, under one assumption that no
        search can prove: that the best latent of every class was found. A better search lowers the bounds, so they are
        estimates. The coupled bound counts the divergence of the other classes as well, under the same assumption. An
        image named wrong has the bound 0."""
    ),
}

COMPARED = {
    "runs": _text(
        """Only options that differ have a column; click on a heading to sort. Compare reconstruction and KL on the
        same data only."""
    ),
    "curves": _text(
        """The same quantity of all runs in one chart. Look at where the curves part: the reconstruction shows what a
        stronger penalty costs, the KL how much information it leaves in the code. Losses of different objectives are
        not comparable; their reconstruction and KL are."""
    ),
    "scores": _text(
        """A dot per run, in its colour; the tick is what a perfect code would get. Look for a run that is ahead on
        most scores rather than on one: scores disagree, and a gap smaller than the spread between seeds means
        nothing. Scores measured in different ways are not comparable."""
    ),
    "walks": _text(
        """The {count} most informative latents of each run, from the code of the same image. Look for the run whose
        rows change one thing each. Order and direction of latents mean nothing: z3 of one run is not z3 of
        another."""
    ),
    "latents": _text(
        """KL of each latent in nats, largest first; grey ones are dead. A stronger penalty closes latents one by one:
        look at how many stay."""
    ),
    "too_few": "Fewer than there are factors means that some factor was given up or shares a latent.",
    "matrices": _text(
        """Mutual information of each latent with each factor, in nats; shades are scaled to each run's own largest
        value. One strong cell per column and no two in a row is how it looks when factors came apart."""
    ),
}

STUDY = {
    "findings": _text(
        """What Locatello et al. (2019) concluded from 12,600 models, each with the rule by which it counts as seen
        here. With fewer runs and steps a no is a question, not a refutation."""
    ),
    "coverage": _text(
        """How many of the planned runs are there. Everything below is computed from the measured ones alone: look for
        data sets or objectives with few of them before reading much into a difference."""
    ),
    "means": _text(
        """Every number that was measured: its mean and standard deviation over the runs that differ in the seed alone.
        A difference between methods that is smaller than these deviations may be luck. Click on a heading to sort, or
        filter for the name of a score."""
    ),
    "runs": _text(
        """Every run and representation that was begun. Click on a heading to sort by it, again to turn the order
        round; the filter keeps rows that contain all words."""
    ),
}

ANSWERS = {
    "correlation_of_codes": _text(
        """Median over seeds, the band between the quartiles; each objective's strengths spread from weakest to
        strongest. In the published study the sampled codes become less correlated with the strength and the mean
        codes do not: look whether the left and the right charts differ in that way."""
    ),
    "correlation_pairs": _text(
        """One point per run. Above the dashed line the mean codes, which everybody uses, are more correlated than the
        sampled codes, which the penalty sees."""
    ),
    "correlation_trend": _text(
        """Rank correlation of total correlation with strength: −1 falls with every step of the strength, +1 rises.
        Read AnnealedVAE with the opposite sign, its capacity counts the other way round."""
    ),
    "metric_agreement": _text(
        """Rank correlation of scores over all runs of a data set, in percent. Blue: the scores order runs alike.
        Pale: they know nothing of each other. Orange: they disagree. Look for a score that no other agrees with."""
    ),
    "variance_explained": _text(
        """Percent of a score's variance that is explained by knowing the objective, and by knowing its strength too.
        What is left is luck of the seed. The tick is what as many random groups would explain: a bar that ends there
        has explained nothing. A diamond is the published number, where the data set was in the study."""
    ),
    "score_spread": _text(
        """Every run as a point, the line is the median. Look at how far the clouds of different objectives overlap:
        where they do, the seed and the strength matter more than the objective."""
    ),
    "strength_curves": _text(
        """Median over seeds, the band between the quartiles; strengths spread from weakest to strongest. A strength
        that is best everywhere would show as one place where all curves peak. Look whether there is one."""
    ),
    "unsupervised_vs_metrics": _text(
        """Rank correlation, in percent, of what can be computed without labels with the scores. A row of one strong
        colour would be a way to choose models without labels."""
    ),
    "transfer_between_data": _text(
        """Rank correlation of the same run's settings between two data sets, in percent. Strong blue off the diagonal
        means that what works on one data set works on the other."""
    ),
    "transfer_of_settings": _text(
        """The same with means over seeds: luck is averaged out, so these should be higher. Strong blue off the
        diagonal means that good settings carry over."""
    ),
    "transfer_trials": _text(
        """How often the best setting of one place beats a random one at another. The tick is chance, the diamond the
        published number. Look at how much is lost from the same data set and score to another one of either."""
    ),
    "downstream_vs_metrics": _text(
        """Rank correlation, in percent, of scores with the accuracy of classifiers on few and many labels, and with
        their efficiency (accuracy on 100 labels over that on all). Blue: runs that score higher do better."""
    ),
    "downstream_pairs": _text(
        """One point per run. A cloud that rises to the right means that runs which score higher also need fewer
        labels."""
    ),
    "method_scores": _text(
        """Means over seeds of every method and score. Framed: better than the next by a t-test (p < 0.05). Look for a
        row that is strong throughout, and mind that a frame among many cells can be luck."""
    ),
    "mean_ranks": _text(
        """Ranks of the methods within each data set and score, averaged: shorter is better. Methods that differ by
        less than chance would give are told apart in the tests below."""
    ),
    "rank_tests": _text(
        """Difference of the mean ranks of two methods' runs, and how often chance gives one as large when it deals the
        runs out anew, each with all its scores. Below 0.05 the first is ahead (negative difference) or behind by more
        than luck; with many pairs, ask for less. If `least` is above 0.05, there are too few runs to tell."""
    ),
}
