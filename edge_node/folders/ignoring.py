"""Which files of a folder are none of its documents: patterns in gitignore's syntax."""

from __future__ import annotations

from pathspec import GitIgnoreSpec

from shared.errors import InputError

FILE = ".dgragignore"
DEFAULTS = (".*", "~$*", "*~", "*.tmp", "*.part", "*.crdownload", "*.swp")  # hidden, locks and halves of files


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
