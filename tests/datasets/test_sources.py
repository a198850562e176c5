"""Every cached file has a source and a means of verification."""

import pytest

from mvlvm.datasets.convert import content_digest
from mvlvm.datasets.sources import SOURCES
from tests.datasets.raw_files import FOLDER

FILES = [
    "bridges.npz", "mnist.npz", "cifar10.npz", "cifar10_gray20.npz", "newsgroups3.jsonl.gz", "yale.npz",
    "frey_faces.npz", "svhn_train16k.npz", "coil20_32.npz", "channel.npz", "channel_drift.npz", "movies.npz",
    "cora.npz", "mfeat.npz", "bbcsport.npz", "bdgp.npz", "cll_partial.npz", "breast_tcga.npz", "citeseq_pbmc.npz",
    "nutrimouse.npz",
]  # fmt: skip


def test_every_cached_file_has_a_source():
    assert sorted(SOURCES) == sorted(FILES)


@pytest.mark.parametrize("file", FILES)
def test_every_source_has_a_web_page_and_a_checksum_or_digest(file):
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
            assert len(value) == {"md5": 32, "sha1": 40, "sha256": 64}[algorithm]


def test_files_that_do_not_come_from_a_repository_are_verified_before_they_are_read():
    for source in SOURCES.values():
        for remote in source.remotes:
            assert remote.url.startswith("https://")
            assert remote.known_hash or remote.url.startswith("https://raw.githubusercontent.com/")


@pytest.mark.parametrize("file", [file for file, source in SOURCES.items() if source.digest])
def test_digests_match_the_files_used_for_our_results(file):
    if not (FOLDER / file).exists():
        pytest.skip(f"$MVLVM_DATA does not contain {file}")
    assert content_digest(FOLDER / file) == SOURCES[file].digest
