"""Where the published data sets are to be had: addresses, checksums, sizes, licences, citations.

Checksums are those the publishers or widely used mirrors of the tables state; ``None`` where none is known, and then
the first download records its own. Several old addresses are dead: see :func:`unbraid.data.files.download.get`.
"""

from dataclasses import dataclass

from unbraid.data.dataset import Card
from unbraid.data.files.root import roots
from unbraid.errors import UsageError, unknown_name

__all__ = ["SOURCES", "RemoteFile", "Source", "card", "missing_file", "source"]


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set, its place under the data root and its addresses, the best first."""

    path: str
    urls: tuple[str, ...]
    sha256: str | None = None
    md5: str | None = None
    """Only where no SHA-256 is known."""
    size: int | None = None
    """Bytes of the file as it is served."""
    unpacked: bool = False
    """Whether the checksum is that of the decompressed bytes (mirrors compress the same file differently)."""


@dataclass(frozen=True)
class Source:
    """A published data set: its files and what to know about using it."""

    title: str
    homepage: str
    licence: str
    citation: str
    files: tuple[RemoteFile, ...]
    note: str = ""
    """What a person has to do when the files cannot be fetched by a program."""


def _idx(folder: str, mirrors: tuple[str, ...], files: dict[str, tuple[str, int | None]], *, unpacked: bool) -> tuple:
    return tuple(
        RemoteFile(f"{folder}/{name}", tuple(f"{m}{name}" for m in mirrors), sha256, size=size, unpacked=unpacked)
        for name, (sha256, size) in files.items()
    )


_NORB = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
_MPI3D = "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/"
_GONDAL = "Gondal et al., On the Transfer of Inductive Bias from Simulation to the Real World, NeurIPS 2019"
_MPI3D_HOME = "https://github.com/rr-learning/disentanglement_dataset"
_NIE = "Nie et al., Semi-Supervised StyleGAN for Disentanglement Learning, ICML 2020"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"

SOURCES: dict[str, Source] = {
    "dsprites": Source(
        "dSprites, the official file",
        "https://github.com/google-deepmind/dsprites-dataset",
        "Apache-2.0",
        "Matthey et al., dSprites: Disentanglement testing Sprites dataset, 2017",
        (
            RemoteFile(
                "dsprites/dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
                (
                    "https://github.com/google-deepmind/dsprites-dataset/raw/master/"
                    "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
                ),
            ),
        ),
        note="unbraid renders dSprites itself; the official file is needed only to compare",
    ),
    "shapes3d": Source(
        "3D Shapes",
        "https://github.com/google-deepmind/3d-shapes",
        "Apache-2.0",
        "Burgess and Kim, 3D Shapes Dataset, 2018",
        (
            RemoteFile(
                "shapes3d/3dshapes.h5",
                ("https://storage.googleapis.com/3d-shapes/3dshapes.h5",),
                "0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
                size=267_573_662,
            ),
        ),
    ),
    "cars3d": Source(
        "Cars3D",
        "http://www.scottreed.info",
        "not stated: research use",
        "Reed et al., Deep Visual Analogy-Making, NeurIPS 2015",
        (
            RemoteFile(
                "cars3d/nips2015-analogy-data.tar.gz",
                ("http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",),
                md5="4e866a7919c1beedf53964e6f7a23686",
            ),
        ),
    ),
    "smallnorb": Source(
        "SmallNORB",
        _NORB,
        "not stated: research use, no sale",
        "LeCun, Huang and Bottou, Learning Methods for Generic Object Recognition with Invariance to Pose and "
        "Lighting, CVPR 2004",
        _idx(
            "smallnorb",
            (_NORB,),
            {
                "smallnorb-5x46789x9x18x6x2x96x96-training-dat.mat.gz": (
                    "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
                    131_896_188,
                ),
                "smallnorb-5x46789x9x18x6x2x96x96-training-cat.mat.gz": (
                    "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
                    348,
                ),
                "smallnorb-5x46789x9x18x6x2x96x96-training-info.mat.gz": (
                    "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
                    71_052,
                ),
                "smallnorb-5x01235x9x18x6x2x96x96-testing-dat.mat.gz": (
                    "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
                    130_799_817,
                ),
                "smallnorb-5x01235x9x18x6x2x96x96-testing-cat.mat.gz": (
                    "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff",
                    347,
                ),
                "smallnorb-5x01235x9x18x6x2x96x96-testing-info.mat.gz": (
                    "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
                    10_428,
                ),
            },
            unpacked=False,
        ),
    ),
    "mpi3d-toy": Source(
        "MPI3D toy",
        _MPI3D_HOME,
        "CC BY 4.0",
        _GONDAL,
        (RemoteFile("mpi3d/mpi3d_toy.npz", (f"{_MPI3D}mpi3d_toy.npz",), md5="55889cb7c7dfc655d6e0277beee88868"),),
    ),
    "mpi3d-realistic": Source(
        "MPI3D realistic",
        _MPI3D_HOME,
        "CC BY 4.0",
        _GONDAL,
        (
            RemoteFile(
                "mpi3d/mpi3d_realistic.npz",
                (f"{_MPI3D}mpi3d_realistic.npz",),
                md5="59a6225b88b635365f70c91b3e52f70f",
            ),
        ),
    ),
    "mpi3d-real": Source(
        "MPI3D real",
        _MPI3D_HOME,
        "CC BY 4.0",
        _GONDAL,
        (RemoteFile("mpi3d/mpi3d_real.npz", (f"{_MPI3D}mpi3d_real.npz",), md5="0f33f609918fb5c97996692f91129802"),),
    ),
    "mpi3d-complex": Source(
        "MPI3D complex",
        _MPI3D_HOME,
        "CC BY 4.0",
        _GONDAL,
        (
            RemoteFile(
                "mpi3d/real3d_complicated_shapes_ordered.npz",
                (
                    "https://huggingface.co/datasets/randall-lab/mpi3d-complex/resolve/main/"
                    "real3d_complicated_shapes_ordered.npz",
                ),
            ),
        ),
        note="the authors serve it from a Google Drive page linked on the home page",
    ),
    "mnist": Source(
        "MNIST",
        "http://yann.lecun.com/exdb/mnist/",
        "CC BY-SA 3.0 as commonly stated",
        "LeCun, Bottou, Bengio and Haffner, Gradient-based learning applied to document recognition, 1998",
        _idx(
            "mnist",
            (
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
            ),
            {
                "train-images-idx3-ubyte.gz": (
                    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                    None,
                ),
                "train-labels-idx1-ubyte.gz": (
                    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                    None,
                ),
                "t10k-images-idx3-ubyte.gz": (
                    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                    None,
                ),
                "t10k-labels-idx1-ubyte.gz": (
                    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                    None,
                ),
            },
            unpacked=True,
        ),
    ),
    "fashion-mnist": Source(
        "Fashion-MNIST",
        "https://github.com/zalandoresearch/fashion-mnist",
        "MIT",
        "Xiao, Rasul and Vollgraf, Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms, "
        "2017",
        _idx(
            "fashion_mnist",
            ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
            {
                "train-images-idx3-ubyte.gz": (
                    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                    None,
                ),
                "train-labels-idx1-ubyte.gz": (
                    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                    None,
                ),
                "t10k-images-idx3-ubyte.gz": (
                    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                    None,
                ),
                "t10k-labels-idx1-ubyte.gz": (
                    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
                    None,
                ),
            },
            unpacked=True,
        ),
    ),
    "kmnist": Source(
        "Kuzushiji-MNIST",
        "http://codh.rois.ac.jp/kmnist/",
        "CC BY-SA 4.0",
        "Clanuwat et al., Deep Learning for Classical Japanese Literature, 2018",
        _idx(
            "kmnist",
            ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
            {
                "train-images-idx3-ubyte.gz": (
                    "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4",
                    18_165_135,
                ),
                "train-labels-idx1-ubyte.gz": (
                    "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17",
                    29_497,
                ),
                "t10k-images-idx3-ubyte.gz": (
                    "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5",
                    3_041_136,
                ),
                "t10k-labels-idx1-ubyte.gz": (
                    "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c",
                    5_120,
                ),
            },
            unpacked=False,
        ),
    ),
    "usps": Source(
        "USPS",
        _LIBSVM.replace("multiclass/", "multiclass.html#usps"),
        "not stated: local use",
        "Hull, A database for handwritten text recognition research, 1994",
        (
            RemoteFile("usps/usps.bz2", (f"{_LIBSVM}usps.bz2",), md5="ec16c51db3855ca6c91edd34d0e9b197"),
            RemoteFile("usps/usps.t.bz2", (f"{_LIBSVM}usps.t.bz2",), md5="8ea070ee2aca1ac39742fdd1ef5ed118"),
        ),
    ),
    "kitti-masks": Source(
        "KITTI Masks",
        "https://zenodo.org/record/3931823",
        "see the home page; the KITTI videos are CC BY-NC-SA 3.0",
        "Klindt et al., Towards Nonlinear Disentanglement in Natural Data with Temporal Sparse Coding, ICLR 2021; "
        "Voigtlaender et al., MOTS: Multi-Object Tracking and Segmentation, CVPR 2019",
        (
            RemoteFile(
                "kitti_masks/kitti_peds_v2.pickle",
                ("https://zenodo.org/record/3931823/files/kitti_peds_v2.pickle?download=1",),
            ),
        ),
    ),
    "celeba": Source(
        "CelebA, aligned and cropped",
        "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        "non-commercial research only",
        "Liu, Luo, Wang and Tang, Deep Learning Face Attributes in the Wild, ICCV 2015",
        (RemoteFile("celeba/img_align_celeba", ()), RemoteFile("celeba/list_attr_celeba.txt", ())),
        note="accept the terms there, download img_align_celeba.zip and list_attr_celeba.txt, and unpack the zip",
    ),
    "falcor3d": Source(
        "Falcor3D, rendered interiors",
        "https://github.com/NVlabs/High-res-disentanglement-datasets",
        "CC BY 4.0 (see the home page)",
        _NIE,
        (RemoteFile("falcor3d/images", ()),),
        note="download the archive of 128 pixels and unpack its numbered images there",
    ),
    "isaac3d": Source(
        "Isaac3D, a rendered robot arm",
        "https://github.com/NVlabs/High-res-disentanglement-datasets",
        "CC BY 4.0 (see the home page)",
        _NIE,
        (RemoteFile("isaac3d/images", ()),),
        note="download the archive of 128 pixels and unpack its numbered images there",
    ),
    "chairs": Source(
        "Rendered chairs",
        "https://www.di.ens.fr/willow/research/seeing3Dchairs/",
        "see the home page",
        "Aubry, Maturana, Efros, Russell and Sivic, Seeing 3D Chairs, CVPR 2014",
        (RemoteFile("chairs/rendered_chairs", ()),),
        note="download rendered_chairs.tar and unpack it there",
    ),
    "causal3dident": Source(
        "Causal3DIdent",
        "https://zenodo.org/record/4784282",
        "CC BY 4.0 (see the home page)",
        "von Kuegelgen et al., Self-Supervised Learning with Data Augmentations Provably Isolates Content from Style, "
        "NeurIPS 2021",
        (RemoteFile("causal3dident/trainset", ()),),
        note="download the training archive and unpack it there",
    ),
    "light-tunnel": Source(
        "Causal Chambers, light tunnel, benchmark of causal representation learning",
        "https://github.com/juangamella/causal-chamber",
        "CC BY 4.0",
        "Gamella, Peters and Buehlmann, Causal chambers as a real-world physical testbed for AI methodology, Nature "
        "Machine Intelligence 2025; Gamella, Bing and Runge, Sanity Checking Causal Representation Learning on a "
        "Simple Real-World System, ICML 2025",
        (RemoteFile("light_tunnel/lt_crl_benchmark_v1", (), md5="8ec492afffd0142abd70b1fa7082b104"),),
        note="download lt_crl_benchmark_v1.zip, whose md5 is 8ec492afffd0142abd70b1fa7082b104, and unpack it there",
    ),
}


def source(name: str) -> Source:
    """The published source of a data set."""
    key = name.replace("_", "-").lower()
    if key not in SOURCES:
        raise unknown_name("published data set", name, SOURCES, "Rendered ones need no download: `unbraid data list`")
    return SOURCES[key]


def card(name: str, traps: tuple[str, ...] = ()) -> Card:
    """The card of a published data set."""
    item = source(name)
    return Card(item.title, item.homepage, item.licence, item.citation, traps)


def missing_file(name: str, path: str) -> UsageError:
    """The error for a file that is under no data root: what is missing, where to get it, where to put it."""
    item = source(name)
    file = next((file for file in item.files if file.path == path), None)
    where = " or ".join(file.urls) if file and file.urls else item.homepage
    searched = ", ".join(str(root) for root in roots())
    command = "" if not (file and file.urls) else f"\n  or run: unbraid data get {name}"
    return UsageError(
        f"data set {name!r} needs the file {path}, which is under none of the data roots ({searched})\n"
        f"  get it from: {where}{f' ({item.note})' if item.note else ''}\n"
        f"  put it at:   {roots()[0] / path}{command}"
    )
