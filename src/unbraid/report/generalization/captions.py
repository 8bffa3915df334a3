"""What each part of a benchmark's page shows and what to look for in it."""

from __future__ import annotations

__all__ = ["CAPTIONS"]


def _text(words: str) -> str:
    return " ".join(words.split())


CAPTIONS = {
    "splits": _text(
        """A cell is a pair of values of two factors, values rise from left to right and from the bottom up. The
        darker, the more of the images that show both are trained on; orange ones are never trained on. Composition
        trains on the edges and asks about the opposite corner; interpolation
        leaves out values in between, extrapolation the highest ones."""
    ),
    "scores": _text(
        """Mean R² over factors on images that were not trained on, with the variance of the whole grid; whiskers are
        one standard deviation over seeds, arrow heads lie below 0. Look for models whose marks of the systematic
        splits come near that of the random one. The thin line in a mark's lane is the clamped truth of its split:
        a model that is perfect where it was trained and never leaves the range it saw. Lines at the bottom are
        predictors that look at no image."""
    ),
    "published": _text(
        """R² × 100, mean ± standard deviation over seeds (n − 1), and in brackets what was published, after 500,000
        steps."""
    ),
    "panels": _text(
        """Each point is an image: the true value of a factor against what the model says, on the dashed line it is
        right. Shaded: values that training never showed. Grey points have seen values alone; orange ones have
        this factor, and no other, at an unseen value. Look whether orange points follow the line or bend back to
        the seen range."""
    ),
    "modularity": _text(
        """Images in which one factor alone has an unseen value. A modular model keeps the other factors and loses
        that one; bars of the same length would mean that one unseen value spoils everything. The random split is
        roughly what could be reached."""
    ),
    "attribution": _text(
        """Mean R² over all factors on images in which this factor alone has an unseen value (extrapolation), a point
        per supervised model and seed, the line is the median. The factor at the top costs most."""
    ),
    "towards": _text(
        """Where predictions of unseen values lie between the training mean (0) and the truth (1), all supervised
        models and seeds. A model that extrapolates would pile up at 1; orange bars go beyond the truth."""
    ),
    "similarity": _text(
        """Correlation, in percent, of what two models say of the factor that left the seen values (extrapolation),
        mean over pairs of seeds; on the diagonal different seeds of one model. Blue: what they say goes together.
        Pooled values mix in that factors differ in where their unseen values lie; within factors this is taken out.
        Published: 57 and more between models, −48 and less with the truth, pooled, on dSprites, Shapes3D and
        MPI3D."""
    ),
    "disentanglement": _text(
        """A point per run with a read-out on its frozen codes; disentanglement is that of training images, and R²
        below −0.5 is drawn there. In a cloud that rises to the right, runs whose codes came apart are read better,
        for whatever reason. Published over all data sets: rank correlation 0.67."""
    ),
    "augmentation": _text(
        """Models trained on batches of which a share was changed, beside the same models without: mean and standard
        deviation (n − 1) of R² over seeds on the test side. Published for the CNN in extrapolation: the mean stays,
        and on some data sets seeds differ less."""
    ),
    "trust": _text(
        """How much of the way beyond the seen values a model can be believed, in percent of the steps that the split
        asks for (in brackets), mean over seeds: up to there, half of its errors stay below the 95 % quantile of
        its errors inside. 0: not one step beyond. Mind that a model with large errors inside is soon believed
        outside."""
    ),
    "errors": _text(
        """What the squared error at unseen values is made of, mean over supervised models: shrinkage towards the
        training mean, an offset common to all images, and the rest. If models are drawn back to what they saw,
        the first two dominate."""
    ),
    "findings": _text(
        """What Schott et al. (2022) conclude, each with the rule by which it counts as seen here. In brackets 95 %
        intervals over seeds of the numbers that decide; where a limit lies inside, it is undecided."""
    ),
    "statements": _text(
        """What the published tables say, held against this benchmark, data set by data set. A no at small budgets is
        a question, not a refutation."""
    ),
    "budget": _text(
        """What every row was trained with, the strength that was selected (by DCI of training images, one for each data
        set and split) and what its codes were read by. Published: 500,000 steps of Adam with batches of 64, 10
        seeds for models with a read-out and 3 for others."""
    ),
}
