"""Files that appear whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written(path: Path, *, replace: bool, option: str) -> Iterator[str]:
    """Gives the name of an empty file in the same folder, which takes its place at the end; an exception leaves nothing.

    Raises FileExistsError if it is there and may not be replaced: `option` says how that is asked for.
    """
    if not replace and path.exists():
        raise FileExistsError(f"{path} is there; {option}=True replaces it")
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, 0o644)
        if replace:
            os.replace(temporary, path)
        else:
            # Fails if somebody made it in the meantime.
            os.link(temporary, path)
            os.unlink(temporary)
    except BaseException:
        os.unlink(temporary)
        raise
