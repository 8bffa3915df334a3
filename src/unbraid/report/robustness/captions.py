"""What the figures of pages about robustness say."""

__all__ = [
    "ADVERSARIAL",
    "CURVES",
    "ERASED",
    "FALLEN",
    "HEAT",
    "MEDIANS",
    "NOISE",
    "RELATIVE",
    "STANDING",
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
