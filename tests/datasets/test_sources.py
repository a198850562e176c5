"""Every file of the cache has a home, and something that vouches for its content."""

import pytest

from mvlvm.datasets.arrays import content_digest
from mvlvm.datasets.sources import SOURCES
from tests.datasets.raw_files import FOLDER

FILES = [
    "bridges.npz", "mnist.npz", "cifar10.npz", "cifar10_gray20.npz", "newsgroups3.jsonl.gz", "yale.npz",
    "frey_faces.npz", "svhn_train16k.npz", "coil20_32.npz", "channel.npz", "channel_drift.npz", "movies.npz",
    "cora.npz", "mfeat.npz", "bbcsport.npz", "bdgp.npz", "cll_partial.npz", "breast_tcga.npz", "citeseq_pbmc.npz",
    "nutrimouse.npz",
]  # fmt: skip


def test_every_file_of_the_cache_has_a_source():
    assert sorted(SOURCES) == sorted(FILES)


@pytest.mark.parametrize("file", FILES)
def test_every_source_can_be_visited_and_its_content_is_vouched_for(file):
    source = SOURCES[file]
    assert source.page.startswith(("https://", "http://"))
    if source.convert is None:
        assert source.note
        assert not source.remotes
        return
    assert source.remotes
    assert len({remote.name for remote in source.remotes}) == len(source.remotes)
    assert source.digest or all(remote.known_hash for remote in source.remotes)
    for remote in source.remotes:
        if remote.known_hash:
            algorithm, _, value = remote.known_hash.partition(":")
            assert len(value) == {"md5": 32, "sha256": 64}[algorithm]


@pytest.mark.parametrize("file", [file for file, source in SOURCES.items() if source.digest])
def test_the_digests_are_those_of_the_files_our_figures_were_measured_on(file):
    if not (FOLDER / file).exists():
        pytest.skip(f"MVLVM_DATA does not name a folder with {file}")
    assert content_digest(FOLDER / file) == SOURCES[file].digest
