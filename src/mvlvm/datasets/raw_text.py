"""Text sets as their public homes give them, converted to the files of the cache."""

import gzip
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

NEWSGROUPS = ("alt.atheism", "comp.sys.mac.hardware", "sci.med")
_SPLITS = ("train", "test")


def newsgroups3(raw: Mapping[str, Path], target: Path) -> None:
    """Convert three groups of the "bydate" archive of 20 Newsgroups to one message a line.

    Messages are whole, with headers, decoded as latin-1, with plain line ends; train before test, then by group and by
    number.
    """
    messages = _read_messages(raw["20news-bydate.tar.gz"])
    # the time and the name of the file would make two conversions differ
    with target.open("wb") as stream, gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as lines:
        for split, group, number in sorted(messages, key=lambda key: (_SPLITS.index(key[0]), key[1], int(key[2]))):
            text = messages[split, group, number].decode("latin-1").replace("\r\n", "\n")
            record = {"label": group, "split": split, "id": number, "text": text}
            lines.write(json.dumps(record).encode() + b"\n")


def _read_messages(path: Path) -> dict[tuple[str, str, str], bytes]:
    """Read (split, group, number) -> message. Nothing is unpacked: no member's name becomes a path."""
    messages: dict[tuple[str, str, str], bytes] = {}
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            folder, group, number = ("", *PurePosixPath(member.name).parts)[-3:] if stream else ("", "", "")
            split = folder.removeprefix("20news-bydate-")
            if stream is not None and split in _SPLITS and group in NEWSGROUPS and number.isdigit():
                messages[split, group, number] = stream.read()
    absent = {(split, group) for split in _SPLITS for group in NEWSGROUPS} - {key[:2] for key in messages}
    if absent:
        raise ValueError(f"{path.name} has no messages of {', '.join(' '.join(pair) for pair in sorted(absent))}.")
    return messages
