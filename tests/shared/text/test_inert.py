"""What a viewer could make active, and what is left of it. The oracle is a CommonMark parser."""

import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text import inert as inert_module
from shared.text.inert import MAX_PASSES, inert
from tests.support.viewer import active


@pytest.mark.parametrize(
    ("marked_up", "shown"),
    [
        ("see [the manual](http://x.example)", "see the manual"),
        ("see [the manual](javascript:alert(1))", "see the manual"),
        ("![](http://x.example/p.png?q=secret)done", "done"),
        ("![plan](p.png)", "plan"),
        ("[![a](b)](c)", "a"),
        ("<b>bold</b>", "bold"),
        ("<script>alert(1)</script>", "alert(1)"),
        ("<<b>script>x", "x"),
        ("[a](http://x.example)[b]: http://y.example", "a[b] : y.example"),
        ("[1]: http://x.example 'title'", "[1] : x.example 'title'"),
        ("[a][ref]\n\n[ref]: <javascript:alert(1)>", "[a][ref]\n\n[ref] : alert(1)"),
        ("<https://x.example/p?q=1>", "x.example/p?q=1"),
        ("write to <a@b.example>", "write to a@b.example"),
        ("https://user:pw@www.x.example/a", "user:pw@x.example/a"),
        ("http:\\/\\/x.example and https&colon;//y.example", "x.example and y.example"),
        ("hthttps://tps://x.example", "x.example"),
        ("www.x.example", "x.example"),
        ("JavaScript:alert(1) data:text/html;base64,AAAA", "alert(1) text/html;base64,AAAA"),
        ("the following data: 3, 4", "the following data: 3, 4"),
        ("&lt;img src=x&gt;&#60;b&#x3e;", ""),
        ("&amp;lt;b&amp;gt;", ""),
        ("3 &lt; 5 &amp; AT&T &nosuch;", "3 < 5 & AT&T nosuch"),
        ("<![CDATA[x]]>", "< ![CDATA[x]]>"),
        ("<?php x ?>", "< ?php x ?>"),
        ("\\href{x}{y} \\url{z}", "href{x}{y} url{z}"),
        ("tag\U000e0041s and\u2060 joins", "tags and joins"),
        ("<img src=x onerror=alert(1)", "< img src=x onerror=alert(1)"),
        ("<!-- hidden -->seen", "seen"),
        ("3 < 5 and 7 > 6", "3 < 5 and 7 > 6"),
        ("a <- b", "a <- b"),
        ("nul\x00bell\x07", "nulbell"),
        ("\u202eturned", "turned"),
        ("half \ud800 pair", "half ? pair"),
        ("two\nlines\tkept", "two\nlines\tkept"),
    ],
)
def test_markup_is_made_inert(marked_up, shown):
    assert inert(marked_up) == shown


MARKUP = """
[ ] ( ) < > ! a http:// https : / www. x.example &lt; &#60; & lt; <b> </b> <!-- --> [1] \\ javascript data text/html, mailto: &colon;
<? ?> <![CDATA[ " @ ` script img """
PIECES = st.lists(st.sampled_from([*MARKUP.split(), " ", "\n", "> ", "- ", "    ", "\x00", "\u200b", "img src=x"]), max_size=25).map(
    "".join
)


@given(PIECES)
def test_nothing_that_is_put_together_of_markup_stays_active(text):
    shown = inert(text)
    assert active(shown) == set()
    assert not re.search(r"[a-z]://|\bwww\.\w|javascript\s*:", shown, re.IGNORECASE)
    assert inert(shown) == shown


@given(PIECES)
def test_what_a_page_prints_before_and_behind_makes_it_no_more_active(text):
    assert active(f"Answer: {inert(text)}. (see below)") == set()


def test_without_the_guard_the_viewer_sees_active_markup():
    assert active("[a](http://x.example) ![b](c) <i>d</i>") == {"link_open", "image", "html_inline"}


DEEP = [
    "javascri" * 1500 + "pt:" * 1500,
    "&" + "amp;" * 4000 + "lt;b&gt;",
    "<" * 2000 + "b>" * 2000,
    "[" * 2000 + "x](y)" * 2000,
    "h" + "ttps:h" * 2000 + "//" * 2000 + "x.example",
    "ww" * 3000 + "www." * 2000 + "x.example",
]


@pytest.mark.parametrize("text", DEEP)
def test_however_deep_markup_hides_it_is_found_in_a_few_passes(text, monkeypatch):
    passes = []
    first, *others = inert_module._REMOVED
    counted = (SimpleNamespace(sub=lambda replacement, text: (passes.append(1), first[0].sub(replacement, text))[1]), first[1])
    monkeypatch.setattr(inert_module, "_REMOVED", (counted, *others))
    shown = inert(text)
    assert len(passes) <= 2 * MAX_PASSES
    assert active(shown) == set()
    assert not re.search(r"[a-z]://|(?<![a-z0-9])www\.\w|javascript\s*:|<b", shown, re.IGNORECASE)
    assert inert(shown) == shown
