"""Small office files, written part by part: what no library writes stands in them."""

import io
import zipfile

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
NAMESPACES = {
    "w": WORD,
    "r": RELATIONS,
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "v": "urn:schemas-microsoft-com:vml",
    "o": "urn:schemas-microsoft-com:office:office",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
}
OPEN_NAMESPACES = {
    name: f"urn:oasis:names:tc:opendocument:xmlns:{path}:1.0"
    for name, path in (
        *((name, name) for name in ("office", "text", "table", "style", "presentation", "chart", "form")),
        *(("draw", "drawing"), ("svg", "svg-compatible")),
    )
} | {
    "dc": "http://purl.org/dc/elements/1.1/",
    "xlink": "http://www.w3.org/1999/xlink",
    "field": "urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0",
}


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """An archive of these parts."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def element(name: str, inside: str, namespaces: dict[str, str] = NAMESPACES) -> str:
    """A root element that knows all prefixes."""
    declared = " ".join(f'xmlns:{prefix}="{address}"' for prefix, address in namespaces.items())
    return f"<{name} {declared}>{inside}</{name}>"


def relations(targets: dict[str, str]) -> str:
    """Relations, by identifier: "kind target"."""
    entries = "".join(
        f'<Relationship Id="{identifier}" Type="{RELATIONS}/{about.split()[0]}" Target="{about.split()[1]}"/>'
        for identifier, about in targets.items()
    )
    return f'<Relationships xmlns="{PACKAGE}">{entries}</Relationships>'


def word_file(body: str, *, title: str = "", **parts: str) -> bytes:
    """A .docx of this body. ``parts``: the content of ``footnotes``, ``styles``, …, without their root."""
    roots = {"header1": "hdr", "footer1": "ftr"}
    files: dict[str, str | bytes] = {
        "_rels/.rels": relations({"r1": "officeDocument word/document.xml"}),
        "word/document.xml": element("w:document", f"<w:body>{body}</w:body>"),
        "word/_rels/document.xml.rels": relations({name: f"{name.rstrip('1')} {name}.xml" for name in parts}),
    }
    for name, content in parts.items():
        root = f"w:{roots.get(name, name)}"
        files[f"word/{name}.xml"] = content if name == "chart1" else element(root, content)
    if title:
        properties = '<p xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{}</dc:title></p>'
        files["docProps/core.xml"] = properties.format(title)
    return zipped(files)


def paragraph(text: str, properties: str = "") -> str:
    """A paragraph of Word with one run."""
    return f"<w:p><w:pPr>{properties}</w:pPr>{run(text)}</w:p>"


def run(text: str, properties: str = "") -> str:
    """A run of Word."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def word_table(*rows: list[str]) -> str:
    """A table of Word; a cell is its text, or "properties|text"."""
    lines = []
    for cells in rows:
        line = ""
        for cell in cells:
            properties, _, text = cell.rpartition("|")
            line += f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"
        lines.append(f"<w:tr>{line}</w:tr>")
    return f"<w:tbl>{''.join(lines)}</w:tbl>"


def open_file(kind: str, body: str, *, styles: str = "", common: str = "", **parts: str) -> bytes:
    """An OpenDocument file of a kind, "text" or "presentation"; its automatic styles, and those in common."""
    automatic = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    content = f"{automatic}<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    files: dict[str, str | bytes] = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": element("office:document-content", content, OPEN_NAMESPACES),
    }
    for name, inside in ({"styles": common} | parts).items():
        path = name.replace("__", "/") + ".xml"
        files[path] = element("office:document-content", inside, OPEN_NAMESPACES)
    return zipped(files)


def show_file(*slides: str, **parts: str) -> bytes:
    """A .pptx of these slides: each is the inside of its shape tree, or "show=0|" and that.

    ``parts``: of the first slide, by kind: ``notesSlide``, ``comments``, ``chart``, ``diagramData``.
    """
    targets = {f"r{at}": f"slide slides/slide{at}.xml" for at in range(1, len(slides) + 1)}
    listed = "".join(f'<p:sldId id="{256 + at}" r:id="r{at}"/>' for at in range(1, len(slides) + 1))
    show = element("p:presentation", f"<p:sldIdLst>{listed}</p:sldIdLst>")
    files: dict[str, str | bytes] = {
        "_rels/.rels": relations({"r1": "officeDocument ppt/presentation.xml"}),
        "ppt/presentation.xml": show,
        "ppt/_rels/presentation.xml.rels": relations(targets),
        "ppt/slides/_rels/slide1.xml.rels": relations({kind: f"{kind} ../{kind}.xml" for kind in parts}),
    }
    for at, slide in enumerate(slides, start=1):
        attributes, _, shapes = slide.rpartition("|")
        name = 'p:sld show="0"' if attributes else "p:sld"
        tree = element("p:sld", f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>")
        files[f"ppt/slides/slide{at}.xml"] = tree.replace("p:sld ", f"{name} ", 1)
    for kind, content in parts.items():
        files[f"ppt/{kind}.xml"] = content
    return zipped(files)


def shape(text: str, *, kind: str = "", at: tuple[int, int] | None = None, size: int = 1000) -> str:
    """A shape of a slide; lines of ``text`` are paragraphs. ``kind``: of its placeholder; ``at``: left and top."""
    mark = f'<p:ph type="{kind}"/>' if kind else ""
    place = ""
    if at is not None:
        place = f'<a:xfrm><a:off x="{at[0]}" y="{at[1]}"/><a:ext cx="{size}" cy="{size}"/></a:xfrm>'
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    head = f'<p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr>{mark}</p:nvPr></p:nvSpPr>'
    return f"<p:sp>{head}<p:spPr>{place}</p:spPr><p:txBody>{lines}</p:txBody></p:sp>"


def chart(title: str, series: dict[str, dict[str, float]], codes: tuple[str, str] = ("General", "General")) -> str:
    """A bar chart: by series, the value of each category. ``codes``: the formats of both."""
    of_labels, of_numbers = (f"<c:formatCode>{code}</c:formatCode>" for code in codes)
    drawn = ""
    for name, values in series.items():
        labels = _points(values)
        numbers = _points(map(str, values.values()))
        drawn += (
            f"<c:ser><c:tx><c:strRef><c:strCache>{_points([name])}</c:strCache></c:strRef></c:tx>"
            f"<c:cat><c:strRef><c:strCache>{of_labels}{labels}</c:strCache></c:strRef></c:cat>"
            f"<c:val><c:numRef><c:numCache>{of_numbers}{numbers}</c:numCache></c:numRef></c:val></c:ser>"
        )
    words = f"<a:p><a:r><a:t>{title}</a:t></a:r></a:p>"
    head = f"<c:title><c:tx><c:rich>{words}</c:rich></c:tx></c:title>"
    plot = f"<c:plotArea><c:barChart>{drawn}</c:barChart></c:plotArea>"
    return element("c:chartSpace", f"<c:chart>{head}{plot}</c:chart>")


def _points(values) -> str:
    return "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))
