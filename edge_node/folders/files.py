"""A folder of this machine as a source."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pathspec import GitIgnoreSpec

from edge_node.documents.parsers import SUFFIXES
from edge_node.documents.text import suffix
from edge_node.folders.records import Entry, Problem, Survey, survey_of
from shared.errors import InputError
from shared.ports import Clock
from shared.text.document_names import document_name, visible
from shared.wire import MAX_NAME_CHARS

FILE = ".dgragignore"  # at the top of a folder, or of a bucket's prefix; those below are not read
DEFAULTS = (".*", "~$*", "*~", "*.tmp", "*.part", "*.crdownload", "*.swp")  # hidden, locks and halves of files
SETTLED_S = 2.0  # what was written so lately may be written again within one tick of the file system's clock
MOST_PATTERNS = 2**16  # bytes of the list of ignored files
OUTSIDE = "a link that leads out of the folder is not followed"
NO_FILE = "it is no file, but a pipe, a socket or a device"
NO_LINK = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def ignoring(text: str = "") -> GitIgnoreSpec:
    r"""The default patterns and those of a file, of which the last that fits a path counts. Raises InputError for one that is none.

    >>> spec = ignoring("drafts/\n!.keep.md")
    >>> [spec.match_file(name) for name in ("a.txt", "sub/~$a.docx", ".git/x.md", "drafts/a.txt", ".keep.md")]
    [False, True, True, True, False]
    """
    try:
        return GitIgnoreSpec.from_lines((*DEFAULTS, *text.splitlines()))
    except ValueError as error:
        raise InputError(f"{FILE} has a pattern that is none: {error}", next_step="write it as in a .gitignore") from error


class Folder:
    """The readable files below a path. A link to a file in it is followed, one that leads out is a problem.

    Links to folders in it are not followed, as their files come by themselves.
    """

    def __init__(self, root: Path, clock: Clock, *, prefix: str = "", most_bytes: int) -> None:
        self.root = root
        self.clock = clock
        self.prefix = prefix  # of each document's name
        self.most_bytes = most_bytes  # of a file

    def survey(self) -> Survey:
        """All files, without those that are ignored. Raises InputError where the folder or its list of ignored files cannot be read."""
        if self.root.is_file():
            raise InputError(f"{self.root} is a file", next_step="give the folder that it is in, or add it by `dgrag add`")
        walk = _Walk(self, self._ignored(), self.clock.now() - SETTLED_S)
        try:
            walk.into(Path())
        except OSError as error:
            raise InputError(f"the folder {self.root} cannot be read: {error.strerror}", next_step="see that it is there") from error
        while walk.folders:
            below = walk.folders.pop()
            try:
                walk.into(below)
            except OSError as error:
                walk.problems.append(Problem(walk.named(below), f"the folder cannot be read: {error.strerror}"))
                walk.unseen.append(visible(f"{walk.named(below)}/"))
        return survey_of(walk.entries, walk.problems, walk.unseen, walk.left_out)

    def read(self, entry: Entry) -> bytes:
        """The content of a file that is one still, and in the folder. Raises OSError."""
        return self._read(entry.place, self.most_bytes)

    def open(self, place: str) -> BinaryIO:
        """A file of the folder, for reading. Raises OSError: it leads out of the folder now, or is no file.

        Its path is resolved once and then opened part by part without links, so that no part can be exchanged meanwhile.
        """
        root = Path(os.path.realpath(self.root))
        path = Path(os.path.realpath(root / place, strict=True))
        if not path.is_relative_to(root) or path == root:
            raise PermissionError(0, OUTSIDE)
        *folders, name = path.relative_to(root).parts
        at = os.open(root, NO_LINK | os.O_DIRECTORY)
        try:
            for folder in folders:
                above, at = at, os.open(folder, NO_LINK | os.O_DIRECTORY, dir_fd=at)
                os.close(above)
            file = os.fdopen(os.open(name, NO_LINK | os.O_NONBLOCK, dir_fd=at), "rb")
        finally:
            os.close(at)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise PermissionError(0, NO_FILE)
        return file

    def _read(self, place: str, most_bytes: int) -> bytes:
        with self.open(place) as file:
            return file.read(most_bytes + 1)

    def _ignored(self) -> GitIgnoreSpec:
        try:
            raw = self._read(FILE, MOST_PATTERNS)
            if len(raw) > MOST_PATTERNS:
                raise OSError(0, f"it has more than {MOST_PATTERNS:,} bytes")
            return ignoring(raw.decode())
        except FileNotFoundError:
            return ignoring()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
            raise InputError(f"{self.root / FILE} cannot be read: {reason}", next_step="make it a readable file of UTF-8 text") from error


class _Walk:
    """One walk through a folder."""

    def __init__(self, folder: Folder, ignored: GitIgnoreSpec, before: float) -> None:
        self.folder = folder
        self.ignored = ignored
        self.before_ns = int(before * 1e9)  # what was written earlier is known by its times
        self.folders: list[Path] = []
        self.entries: list[Entry] = []
        self.problems: list[Problem] = []
        self.unseen: list[str] = []
        self.left_out: list[str] = []
        self._root = folder.root.resolve()

    def named(self, below: Path) -> str:
        """The name of the document of a file."""
        return f"{self.folder.prefix}{below.as_posix()}"

    def into(self, below: Path) -> None:
        """Take a folder's files, and note its folders. Raises OSError.

        A folder that is elsewhere than its path says is a link, or a junction, or was exchanged for one.
        """
        if Path(os.path.realpath(self.folder.root / below)) != self._root / below:
            raise PermissionError(0, OUTSIDE)
        for place, found in self._listed(below):
            if found.is_dir(follow_symlinks=False):
                if not self.ignored.match_file(f"{place}/"):
                    self.folders.append(Path(place))
            elif not self.ignored.match_file(place):
                self._file(place, found)

    def _listed(self, below: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
        with os.scandir(self.folder.root / below) as found:
            yield from (((below / one.name).as_posix(), one) for one in found)

    def _file(self, place: str, found: os.DirEntry[str]) -> None:
        name = self.folder.prefix + place
        try:
            if found.is_symlink() and Path(found.path).is_dir():
                if not self._is_inside(found):  # the files of one inside come by themselves
                    self.problems.append(Problem(f"{_shown(name)}/", OUTSIDE))
            elif suffix(place) not in SUFFIXES:
                self.left_out.append(_shown(name))
            elif reason := self._unfit(name, found):
                self.problems.append(Problem(_shown(name), reason))
            else:
                told = found.stat()
                self.entries.append(Entry(document_name(name), place, told.st_size, self._mark(told)))
        except InputError as error:
            self.problems.append(Problem(_shown(name), error.message))
        except OSError as error:
            self.problems.append(Problem(_shown(name), f"it cannot be read: {error.strerror}"))

    def _unfit(self, name: str, found: os.DirEntry[str]) -> str:
        if found.is_symlink() and not self._is_inside(found):
            return OUTSIDE
        if not stat.S_ISREG(found.stat().st_mode):
            return NO_FILE
        if _shown(name) != name:
            return "its name is no UTF-8"
        if len(name) > MAX_NAME_CHARS:
            return f"its path has more than {MAX_NAME_CHARS} characters"
        if found.stat().st_size > self.folder.most_bytes:
            return f"it has more than {self.folder.most_bytes:,} bytes"
        return ""

    def _is_inside(self, found: os.DirEntry[str]) -> bool:
        return Path(os.path.realpath(found.path)).is_relative_to(self._root)

    def _mark(self, told: os.stat_result) -> str:
        if max(told.st_mtime_ns, told.st_ctime_ns) >= self.before_ns:
            return ""
        return f"{told.st_size}:{told.st_mtime_ns}:{told.st_ctime_ns}:{told.st_ino}"


def _shown(name: str) -> str:
    """A name as it can be printed, where its bytes are no UTF-8."""
    return name.encode(errors="replace").decode()
