"""A download as a process of its own, watched and killed from outside: ``python -m symlab.data.download``.

``url URL FILE`` loads one file with a line of progress a second; ``torchvision CLASS DIRECTORY`` lets torchvision load it.
"""

import argparse
import logging
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

logger = logging.getLogger(__name__)

_BLOCK = 1 << 18
_TIMEOUT_SECONDS = 20.0


def download(url: str, path: Path) -> None:
    """Loads ``url`` into ``path``; the size is reported once a second."""
    request = urllib.request.Request(url, headers={"User-Agent": "symlab"})
    loaded, reported = 0, time.monotonic()
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response, path.open("wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        while block := response.read(_BLOCK):
            file.write(block)
            loaded += len(block)
            if time.monotonic() - reported > 1:
                reported = time.monotonic()
                logger.info("%.0f of %.0f MB", loaded / 1e6, total / 1e6)
    if total and loaded != total:
        raise urllib.error.URLError(f"the connection ended after {loaded} of {total} bytes")


def download_torchvision(dataset: str, directory: Path) -> None:
    """torchvision verifies the MD5 sums it knows before it unpacks."""
    from symlab.torchvision_compat import torchvision

    getattr(torchvision.datasets, dataset)(str(directory), download=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m symlab.data.download", description=__doc__)
    parser.add_argument("kind", choices=("url", "torchvision"))
    parser.add_argument("what", help="a URL, or the name of a torchvision data set class")
    parser.add_argument("destination", type=Path)
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    fetch = download if options.kind == "url" else download_torchvision
    try:
        fetch(options.what, options.destination)
    except (OSError, RuntimeError) as error:
        logger.error("error: %s", " ".join(str(error).split()))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
