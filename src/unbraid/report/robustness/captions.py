"""What the figures of pages about robustness say."""

__all__ = [
    "ADVERSARIAL",
    "BANDS",
    "BOUNDED",
    "BY_CLASS",
    "BY_QUARTER",
    "CURVES",
    "DISTAL",
    "ERASED",
    "FALLEN",
    "HEAT",
    "HISTOGRAM",
    "MEDIANS",
    "NOISE",
    "RELATIVE",
    "STANDING",
    "T1",
    "T1_PUBLISHED",
    "TABLE",
    "WORST",
]

HEAT = (
    "Every cell is accuracy under a corruption, over its severities, minus accuracy on the clean images, in "
    "points: orange is lost, blue is won. Framed cells are of corruptions that the model was shown in "
    "training, and no test of how it bears what it does not know."
)
TABLE = (
    "Standard errors are over images: answers about one image under several corruptions are not taken for "
    "independent. Means in brackets hold a corruption that training showed."
)
RELATIVE = (
    "Relative errors are the mean over corruptions of errors divided by those of the reference, x 100. They "
    "compare models on these images; they are no mCE of ImageNet-C, which is relative to AlexNet on other "
    "files."
)
CURVES = "Accuracy over severity; 0 is the clean image. Charts can be pointed at."
WORST = (
    "Wrong answers that the model was surest of, two of a corruption at most. In brackets: the confidence in "
    "the wrong class."
)
NOISE = (
    "How many decisions stand as noise grows along one random direction per image, by its L2 norm after "
    "clipping. Where a curve starts is clean accuracy; where it ends are the images that no amount of this "
    "noise changes."
)
MEDIANS = (
    "The median L2 of the smallest noise that changes a decision (eps*), with the 95 % interval over images; "
    "of learned noise the mean over generators with its standard deviation. 0 is an image that is named wrong "
    "without noise."
)
ERASED = (
    "Some generators missed their norm on most images: on a dark background the strongest noise erases bright "
    "strokes, and distances then measure blank images. Give a smaller eps."
)
ADVERSARIAL = (
    "Accuracy where an attack may move each image within a distance. It is an upper bound: a stronger attack "
    "may find more."
)
STANDING = "How many decisions stand as the allowed distance grows, by the nearest adversarial images that DDN found."
FALLEN = (
    "The images whose class changes first, with the least noise that does it. In brackets: the confidence in the "
    "wrong class there, just beyond the border between the two."
)
T1 = (
    "Median distance of the nearest image that each attack found / accuracy in % at the bound in brackets. All is the "
    "nearest by any of them, with 95 % intervals over images. Images that are named wrong as they are have distance 0; "
    "where an attack failed the distance is infinite, which proves nothing. Distances are upper bounds: a stronger "
    "attack may come nearer."
)
T1_PUBLISHED = (
    "Published numbers are those of Schott et al. (2019) for their models and budgets, on a number of digits that they "
    "do not tell."
)
BANDS = (
    "The share of images that no attack changed within the bound, by the nearest image of all attacks, with a band of "
    "95 % over images. Where a curve starts is clean accuracy."
)
HISTOGRAM = "How far the nearest adversarial image is, by any attack; grey: nothing was found. Models share an axis."
BY_CLASS = (
    "From top to bottom: an image of each class drawn at random, the nearest adversarial image, and what changed (grey "
    "is nothing, black and white the largest change)."
)
BY_QUARTER = (
    "Images drawn at random from each quarter of the way to the largest distance: near ones fall easily, and far ones "
    "may have changed for you, too."
)
BOUNDED = (
    "What images must at least be moved by before an ABS model changes its mind. L2 is the bound of Schott et al. "
    "(2019) with its formula mended (published, of digits: 0.69 for ABS, 0.60 for Binary ABS; median Linf 0.06); the "
    "coupled one counts the divergence of the other classes. All hold if the search found the best latent of every "
    "class; images that an attack fooled within their bound would prove that it did not."
)
DISTAL = (
    "Climbs from uniform noise until a class has a probability of 0.9, which is calibrated so that half of the images "
    "have more. A model that is sure of noise has not seen a reason to doubt it."
)
