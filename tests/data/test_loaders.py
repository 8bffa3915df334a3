"""Loaders of the published factor data sets, on small files in the true format that the tests write themselves."""

import gzip
import io
import tarfile
from math import prod
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from unbraid import data
from unbraid.data.sets.cars3d import convert_cars3d
from unbraid.data.sets.mpi3d import open_mpi3d
from unbraid.data.sets.shapes3d import convert_shapes3d
from unbraid.data.sets.smallnorb import SmallNORB, _Chunk, convert_smallnorb, read_matrix
from unbraid.data.space import FactorSpace
from unbraid.errors import UsageError

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _root(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))


def small(space: FactorSpace, *sizes: int) -> FactorSpace:
    return FactorSpace(space.names, sizes, space.kinds)


def smooth(shape: tuple[int, ...]) -> np.ndarray:
    return RNG.integers(0, 256, shape, dtype=np.uint8)


PUBLISHED = {
    "shapes3d": ((10, 10, 10, 8, 4, 15), 480_000),
    "cars3d": ((4, 24, 183), 17_568),
    "smallnorb": ((5, 9, 18, 6), 48_600),
    "mpi3d-toy": ((6, 6, 2, 3, 3, 40, 40), 1_036_800),
    "mpi3d-realistic": ((6, 6, 2, 3, 3, 40, 40), 1_036_800),
    "mpi3d-real": ((6, 6, 2, 3, 3, 40, 40), 1_036_800),
    "mpi3d-complex": ((4, 4, 2, 3, 3, 40, 40), 460_800),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes(name):
    sizes, images = PUBLISHED[name]
    assert data.entry(name).space.sizes == sizes
    assert data.entry(name).images == images


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_missing_file_says_where_to_get_it_and_where_to_put_it(name, tmp_path):
    with pytest.raises(UsageError) as caught:
        data.load(name)
    message = str(caught.value)
    assert "get it from: http" in message
    assert f"put it at:   {tmp_path / 'root'}" in message
    assert f"unbraid data get {name}" in message


def write_shapes3d(path: Path, space: FactorSpace) -> np.ndarray:
    images = smooth((len(space), 64, 64, 3))
    labels = space.factors(np.arange(len(space))) * np.array([0.1, 0.1, 0.1, 0.07, 1.0, 4.28])
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=images, chunks=(5, 64, 64, 3), compression="gzip")
        file.create_dataset("labels", data=labels)
    return images


SHAPES = small(data.entry("shapes3d").space, 2, 3, 2, 2, 2, 3)


def test_shapes3d_is_unpacked_once_and_read_from_there(tmp_path):
    images = write_shapes3d(tmp_path / "3dshapes.h5", SHAPES)
    first = convert_shapes3d(tmp_path / "3dshapes.h5", SHAPES)
    np.testing.assert_array_equal(first.images([0, 143, 77]), images[[0, 143, 77]])
    assert convert_shapes3d(tmp_path / "3dshapes.h5", SHAPES).path == first.path


def test_another_shapes3d_file_gives_another_store(tmp_path):
    write_shapes3d(tmp_path / "3dshapes.h5", SHAPES)
    convert_shapes3d(tmp_path / "3dshapes.h5", SHAPES)
    images = write_shapes3d(tmp_path / "3dshapes.h5", SHAPES)
    store = convert_shapes3d(tmp_path / "3dshapes.h5", SHAPES)
    np.testing.assert_array_equal(store.images([5]), images[[5]])


def test_a_shapes3d_file_of_another_size_or_cut_short_is_refused(tmp_path):
    path = tmp_path / "root" / "shapes3d" / "3dshapes.h5"
    write_shapes3d(path, SHAPES)
    with pytest.raises(UsageError, match=r"expected uint8 \(480000, 64, 64, 3\)"):
        data.load("shapes3d")
    path.write_bytes(path.read_bytes()[:10_000])
    with pytest.raises(UsageError, match="unbraid data get shapes3d"):
        data.load("shapes3d")


MPI = small(data.entry("mpi3d-toy").space, 2, 2, 2, 1, 1, 3, 4)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_mpi3d_is_mapped_or_unpacked(tmp_path, save, monkeypatch):
    monkeypatch.setattr("unbraid.data.sets.mpi3d.is_large", lambda *_, **__: save is np.savez_compressed)
    images = smooth((len(MPI), 64, 64, 3))
    save(tmp_path / "mpi3d_toy.npz", images=images)
    held = open_mpi3d(tmp_path / "mpi3d_toy.npz", MPI)
    np.testing.assert_array_equal(held.images([95, 0, 50]), images[[95, 0, 50]])
    # Uncompressed archives need no second copy of the images.
    assert (tmp_path / "root").exists() == (save is np.savez_compressed)


def test_mpi3d_of_the_wrong_length_is_refused(tmp_path):
    (tmp_path / "root" / "mpi3d").mkdir(parents=True)
    np.savez(tmp_path / "root" / "mpi3d" / "mpi3d_real.npz", images=smooth((10, 64, 64, 3)))
    with pytest.raises(UsageError, match=r"expected uint8 \(1036800, 64, 64, 3\)"):
        data.load("mpi3d-real")


CARS = small(data.entry("cars3d").space, 2, 3, 4)


def write_cars(path: Path) -> dict[str, np.ndarray]:
    """A tar with the layout of the published one, its members deliberately not in alphabetical order."""
    cars = {f"car_{k:03}_mesh.mat": smooth((128, 128, 3, 3, 2)) for k in (7, 2, 30, 11)}
    with tarfile.open(path, "w:gz") as archive:
        for name, im in cars.items():
            buffer = io.BytesIO()
            savemat(buffer, {"im": im, "mask": np.zeros((128, 128, 3, 2), np.uint8)}, do_compression=True)
            for member in (f"data/cars/{name}", f"data/other/{name}"):
                info = tarfile.TarInfo(member)
                info.size = buffer.tell() if "cars/" in member else 3
                archive.addfile(info, io.BytesIO(buffer.getvalue()[: info.size]))
    return cars


def shrunk(picture: np.ndarray) -> np.ndarray:
    return np.asarray(Image.fromarray(picture).resize((64, 64), Image.Resampling.LANCZOS))


def test_cars3d_numbers_cars_by_sorted_names(tmp_path):
    cars = write_cars(tmp_path / "cars.tar.gz")
    store = convert_cars3d(tmp_path / "cars.tar.gz", CARS)
    for elevation, azimuth, car in ((0, 0, 0), (1, 2, 3), (1, 0, 2)):
        name = ("car_002_mesh.mat", "car_007_mesh.mat", "car_011_mesh.mat", "car_030_mesh.mat")[car]
        image = store.images(CARS.index([[elevation, azimuth, car]]))[0]
        np.testing.assert_array_equal(image, shrunk(cars[name][..., azimuth, elevation]))


def test_an_unpacked_cars3d_folder_gives_the_same_images(tmp_path):
    write_cars(tmp_path / "cars.tar.gz")
    with tarfile.open(tmp_path / "cars.tar.gz") as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    packed = convert_cars3d(tmp_path / "cars.tar.gz", CARS)
    unpacked = convert_cars3d(tmp_path / "unpacked" / "data" / "cars", CARS)
    np.testing.assert_array_equal(packed.images(range(24)), unpacked.images(range(24)))


def test_a_cut_cars3d_archive_is_refused(tmp_path):
    write_cars(tmp_path / "cars.tar.gz")
    whole = (tmp_path / "cars.tar.gz").read_bytes()
    (tmp_path / "cars.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=r"cars\.tar\.gz is no whole archive|expected 4"):
        convert_cars3d(tmp_path / "cars.tar.gz", CARS)


def test_too_few_cars_are_refused(tmp_path):
    write_cars(tmp_path / "cars.tar.gz")
    with pytest.raises(UsageError, match="holds 4 cars, expected 5"):
        convert_cars3d(tmp_path / "cars.tar.gz", small(CARS, 2, 3, 5))


NORB = small(data.entry("smallnorb").space, 2, 2, 3, 2)


def matrix(array: np.ndarray) -> bytes:
    """The binary matrix format: magic, dimensions, at least three sizes, data, all little-endian."""
    magic = {np.dtype("u1"): 507333717, np.dtype("i4"): 507333716}[array.dtype]
    sizes = (*array.shape, *(1,) * (3 - array.ndim))
    return (
        np.array([magic, array.ndim, *sizes], "<i4").tobytes() + array.astype(array.dtype.newbyteorder("<")).tobytes()
    )


def write_norb(folder: Path, *, zipped: bool) -> tuple[list[_Chunk], dict[tuple[int, ...], np.ndarray]]:
    """Two chunks with instances 0, 1 and 2, 3, in a random order; returns what each (factors, instance) shows."""
    pictures: dict[tuple[int, ...], np.ndarray] = {}
    chunks = []
    for part, instances in (("training", (0, 1)), ("testing", (2, 3))):
        rows = np.array([(*row, k) for row in NORB.factors(np.arange(len(NORB))) for k in instances], np.int32)
        rows = RNG.permutation(rows)
        both = smooth((len(rows), 2, 96, 96))
        pictures |= {tuple(row.tolist()): pair[0] for row, pair in zip(rows, both, strict=True)}
        category, elevation, azimuth, lighting, instance = rows.T
        info = np.stack([instance, elevation, azimuth * 2, lighting], axis=1)
        paths = []
        for what, array in (("dat", both), ("cat", category), ("info", info)):
            path = folder / f"{part}-{what}.mat{'.gz' if zipped else ''}"
            content = matrix(np.ascontiguousarray(array))
            path.write_bytes(gzip.compress(content) if zipped else content)
            paths.append(path)
        chunks.append(_Chunk(*paths))
    return chunks, pictures


@pytest.mark.parametrize("zipped", [True, False])
def test_smallnorb_shows_the_left_camera_of_a_random_toy(tmp_path, zipped):
    chunks, pictures = write_norb(tmp_path, zipped=zipped)
    norb = SmallNORB(convert_smallnorb(chunks, NORB, 4), NORB, 4)
    assert norb.stochastic
    factors = [[1, 0, 2, 1]]
    images = norb.images(np.repeat(NORB.index(factors), 200), np.random.default_rng(0))
    shown = {image.tobytes() for image in images}
    # In 200 draws each of the four toys turns up: (3/4)**200 is 1e-25.
    assert shown == {shrunk(pictures[(*factors[0], k)]).tobytes() for k in range(4)}


def test_smallnorb_needs_a_generator(tmp_path):
    chunks, _ = write_norb(tmp_path, zipped=False)
    norb = SmallNORB(convert_smallnorb(chunks, NORB, 4), NORB, 4)
    with pytest.raises(UsageError, match="pass rng"):
        norb.images([0])


def test_half_of_smallnorb_is_refused(tmp_path):
    chunks, _ = write_norb(tmp_path, zipped=False)
    with pytest.raises(UsageError, match="48 images are missing"):
        convert_smallnorb(chunks[:1], NORB, 4)


def test_the_binary_matrix_reads_vectors_whose_sizes_are_padded_to_three(tmp_path):
    vector = np.array([3, -1, 70_000], np.int32)
    (tmp_path / "m").write_bytes(matrix(vector))
    assert len(matrix(vector)) == 4 * (2 + 3 + 3)
    np.testing.assert_array_equal(read_matrix(tmp_path / "m"), vector)


@pytest.mark.parametrize("cut", [10, 25])
def test_a_cut_binary_matrix_is_refused(tmp_path, cut):
    content = matrix(np.zeros((2, 3, 4), np.uint8))
    (tmp_path / "m").write_bytes(content[:cut])
    with pytest.raises(UsageError, match="cut short"):
        read_matrix(tmp_path / "m")
    (tmp_path / "m").write_bytes(b"\0" * prod((5, 20)))
    with pytest.raises(UsageError, match="no binary matrix"):
        read_matrix(tmp_path / "m")


def write_celeba(root: Path) -> np.ndarray:
    folder = root / "celeba" / "img_align_celeba"
    folder.mkdir(parents=True)
    images = np.full((4, 218, 178, 3), 40, np.uint8)
    images[:, 35:183, 15:163] = np.array([50, 100, 150, 200])[:, None, None, None]
    for k, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{k + 1:06}.jpg", quality=95)
    rows = "".join(f"{k + 1:06}.jpg {'1 -1' if k % 2 else '-1 -1'}\n" for k in range(4))
    (root / "celeba" / "list_attr_celeba.txt").write_text(f"4\nSmiling Young\n{rows}")
    return images


def test_celeba_crops_the_middle_and_shrinks(tmp_path):
    write_celeba(tmp_path / "root")
    faces = data.load("celeba")
    assert faces.shape == (64, 64, 3)
    # The middle 148 x 148 is of one brightness, so no darker border is left (2 grey levels for JPEG).
    images = faces.images(range(4)).astype(int)
    assert np.abs(images - np.array([50, 100, 150, 200])[:, None, None, None]).max() <= 2


def test_a_celeba_attribute_makes_labels(tmp_path):
    write_celeba(tmp_path / "root")
    faces = data.load("celeba:attribute=Smiling")
    assert faces.labels().tolist() == [0, 1, 0, 1]
    assert faces.classes == ("not Smiling", "Smiling")
    with pytest.raises(UsageError, match="did you mean 'Smiling'"):
        data.load("celeba", attribute="Smilin")


def test_all_celeba_attributes_are_factors_and_people_are_classes(tmp_path):
    write_celeba(tmp_path / "root")
    folder = tmp_path / "root" / "celeba"
    names = sorted(path.name for path in (folder / "img_align_celeba").iterdir())
    said = ("1 -1", "-1 -1", "1 1", "-1 1")
    rows = "".join(f"{name} {own}\n" for name, own in zip(names, said, strict=True))
    (folder / "list_attr_celeba.txt").write_text(f"4\nSmiling Young\n{rows}")
    every = data.load("celeba:attribute=all")
    assert every.factor_names == ("Smiling", "Young")
    assert every.factors(range(4)).tolist() == [[1, 0], [0, 0], [1, 1], [0, 1]]
    people_of = "".join(f"{name} {who}\n" for name, who in zip(names, (9, 2, 9, 5), strict=True))
    (folder / "identity_CelebA.txt").write_text(people_of)
    people = data.load("celeba:identity=true")
    assert people.classes == ("person 2", "person 5", "person 9")
    assert people.labels().tolist() == [2, 0, 2, 1]
    parts = "".join(f"{name} {part}\n" for name, part in zip(names, (0, 1, 2, 0), strict=True))
    (folder / "list_eval_partition.txt").write_text(parts)
    assert len(data.load("celeba:partition=train")) == 2
    assert (data.load("celeba:partition=test").images([0]) == data.load("celeba").images([2])).all()
    with pytest.raises(UsageError, match="did you mean 'valid'"):
        data.load("celeba:partition=vaild")
    with pytest.raises(UsageError, match="not both"):
        data.load("celeba:attribute=Young,identity=true")
