"""Reads a file with one reader, and tells what it cost. It is run by that reader's own interpreter, and imports nothing else of ours.

``python reading_process.py SYSTEM FILE OUT`` writes the text to ``OUT`` and one JSON object to its output.
"""

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

Read = Callable[[Path], str]


def ours() -> Read:
    """Our own parsers, without the sealed process that an edge runs them in."""
    from edge_node.documents.readers import read

    def text(path: Path) -> str:
        found = read(path.name, path.read_bytes())
        return f"{found.title}\n\n{found.text}"

    return text


def pdfium() -> Read:
    """The floor for PDF: the text layer as PDFium gives it."""
    import pypdfium2

    def text(path: Path) -> str:
        with pypdfium2.PdfDocument(path) as document:
            return "\n\n".join(page.get_textpage().get_text_range() for page in document)

    return text


def markitdown() -> Read:
    """Microsoft's converter to Markdown."""
    from markitdown import MarkItDown  # type: ignore[import-not-found]

    converter = MarkItDown()
    return lambda path: str(converter.convert(path).text_content)


def xberg() -> Read:
    """The successor of kreuzberg, as it comes, to Markdown."""
    import asyncio

    from xberg import ExtractInput, ExtractionConfig, extract  # type: ignore[import-not-found]

    config = ExtractionConfig(use_cache=False, output_format="markdown")

    def text(path: Path) -> str:
        found = asyncio.run(extract(ExtractInput(uri=str(path)), config))
        return "\n\n".join(one.content for one in found.results)

    return text


SYSTEMS: dict[str, Callable[[], Read]] = {"ours": ours, "pdfium": pdfium, "markitdown": markitdown, "xberg": xberg}


def cpu_s() -> float:
    """Seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def main() -> None:
    """Read one file, as the arguments say."""
    system, file, out = sys.argv[1:]
    read = SYSTEMS[system]()
    began = cpu_s()
    text = read(Path(file))
    took_s = cpu_s() - began
    Path(out).write_text(text, encoding="utf-8")
    peak_kb = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    sys.stdout.write(json.dumps({"cpu_s": took_s, "peak_mb": peak_kb // 1024}))


if __name__ == "__main__":
    main()
