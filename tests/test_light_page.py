"""The step that makes pages light, and what pages say of themselves to search engines and chats."""

import io
import os
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from fontTools.ttLib import TTFont

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import light_page  # noqa: E402  (extensions live beside the book, not in a package)
import sharing  # noqa: E402
from light_page import icons, page, scripts, sheet  # noqa: E402

BAR = (448, 512, "M0 96")
HEAD = """<html lang="en" data-content_root="{root}" data-theme="auto"><head>
<script>
    document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";
</script>
<link href="{root}_static/styles/theme.css?digest=1" rel="stylesheet" />
    <link rel="stylesheet" type="text/css" href="{root}_static/{extra}?v=2" />
    <link rel="stylesheet" type="text/css" href="{root}_static/book.css" />
<script defer src="{root}_static/scripts/fontawesome.js?digest=1"></script>
<link rel="preload" as="script" href="{root}_static/menu.js" />
<script src="{root}_static/documentation_options.js?v=3"></script>
<script>DOCUMENTATION_OPTIONS.pagename = 'x';</script>
<script src="{root}_static/menu.js"></script>
<script src="{root}_static/searchtools.js"></script>
<script src="{root}searchindex.js"></script>
<script src="{root}_static/copybutton.js"></script>
<script src="{root}_static/togglebutton.js"></script>
<script src="{root}_static/design-tabs.js"></script>
<script defer src="{root}_static/scripts/bootstrap.js?digest=1"></script>
<script defer src="{root}_static/scripts/pydata-sphinx-theme.js?digest=1"></script>
</head><body class="plain"><i class="fa-solid fa-bars"></i>
<img alt="A plot of one" src="{root}_images/plot.png" /></body></html>
"""
# The two places of the theme's script that are changed, as it has them.
THEME = (
    "function I(){const e=()=>{document.querySelectorAll(['pre'])"
    ".forEach(e=>{e.tabIndex=e.scrollWidth>e.clientWidth?0:-1})},t=_(e,300);"
    'window.addEventListener("resize",t),new MutationObserver(t).observe(main),e()}'
)


@pytest.fixture
def site(tmp_path):
    """A built book of two pages and the search page."""
    static = tmp_path / "_static"
    (static / "styles").mkdir(parents=True)
    (static / "scripts").mkdir()
    (tmp_path / "_images").mkdir()
    (tmp_path / "book").mkdir()
    (static / "basic.css").write_text(".plain { color: red } .unused { color: blue }\n")
    (static / "styles" / "theme.css").write_text('@import "../basic.css";\n')
    (static / "extra.css").write_text(
        ".menu-open { background: url(pictures/a.png) } .hint-open { color: red }\n"
    )
    (static / "book.css").write_text(".drawn-later { color: green }\n")
    (static / "scripts" / "fontawesome.js").write_text(
        'p={"bars":[448,512,["navicon"],"f0c9","M0 96"],x:[1,2,[],"f00d","M1 1"]}'
    )
    (static / "documentation_options.js").write_text("const DOCUMENTATION_OPTIONS = {};")
    (static / "menu.js").write_text('element.classList.add("menu-open");')
    (static / "searchtools.js").write_text("const Search = {};")
    (static / "scripts" / "bootstrap.js").write_text('hint.classList.add("hint-open")')
    (static / "scripts" / "pydata-sphinx-theme.js").write_text(THEME)
    (tmp_path / "searchindex.js").write_text("Search.setIndex({})")
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">2L", 640, 480)
    (tmp_path / "_images" / "plot.png").write_bytes(header)
    (tmp_path / "book" / "one.html").write_text(HEAD.format(root="../", extra="extra.css"))
    (tmp_path / "two.html").write_text(HEAD.format(root="", extra="extra.css"))
    (tmp_path / "search.html").write_text(HEAD.format(root="", extra="extra.css"))
    (tmp_path / "index.html").write_text('<meta http-equiv="Refresh" content="0; url=two.html" />')
    return tmp_path


def test_a_page_asks_for_one_sheet_without_the_unused(site):
    light_page.lighten(site)
    html = (site / "book" / "one.html").read_text()
    assert html.count('rel="stylesheet"') == 1
    css = (site / "_static" / page.SHEET).read_text()
    assert ".plain" in css  # an element has it
    assert ".menu-open" in css  # a script adds it
    assert ".hint-open" in css  # a script that comes with the first move adds it
    assert ".drawn-later" in css  # our own sheets stay whole
    assert ".unused" not in css
    assert "url(pictures/a.png)" in css
    assert "@import" not in css


def test_scripts_wait_and_those_of_the_search_stay_on_its_page(site):
    light_page.lighten(site)
    html = (site / "book" / "one.html").read_text()
    assert '<script defer src="../_static/menu.js"></script>' in html
    assert html.index("const DOCUMENTATION_OPTIONS") < html.index("OPTIONS.pagename")
    for gone in ("fontawesome", "preload", "searchtools", "searchindex"):
        assert gone not in html
    search = (site / "search.html").read_text()
    assert '<script defer src="_static/searchtools.js"></script>' in search
    assert search.index("searchtools.js") < search.index("searchindex.js")
    for text in (html, search):
        assert all("defer" in found[0] for found in scripts.SCRIPT.finditer(text))


@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("copybutton.js", '<div class="highlight"><pre>x = 1</pre></div>'),
        ("togglebutton.js", '<div class="solution dropdown admonition">'),
        ("togglebutton.js", '<div class="admonition dropdown">'),
        ("togglebutton.js", '<div class="cell toggle">'),
        ("design-tabs.js", '<label class="sd-tab-label">'),
    ],
)
def test_a_script_without_work_in_a_page_is_left_out(name, element, site):
    for path, body in ((site / "two.html", element), (site / "search.html", "")):
        path.write_text(path.read_text().replace("<img", f"{body}<img"))
    light_page.lighten(site)
    assert f'src="_static/{name}"' in (site / "two.html").read_text()
    assert name not in (site / "search.html").read_text()


def test_no_other_element_keeps_a_script():
    others = '<button class="btn dropdown-toggle"><div class="dropdown dropdown-downloads">'
    assert not scripts.FOLDS.search(others)


def test_the_themes_scripts_wait_for_the_first_move(site, monkeypatch, tmp_path_factory):
    light_page.lighten(site)
    html = (site / "book" / "one.html").read_text()
    waits = f"../_static/scripts/bootstrap.js?digest=1 ../_static/{scripts.NEAR_PARTS}?digest=1"
    assert f'<script data-waits="{waits}">' in html
    assert 'src="../_static/scripts/' not in html
    assert html.index("data-waits") > html.index("<img")
    program = tmp_path_factory.mktemp("new") / "first_use.js"
    program.write_text("a newer program")
    monkeypatch.setattr(scripts, "FIRST_USE_PROGRAM", program)
    light_page.lighten(site)
    newer = (site / "book" / "one.html").read_text()
    assert newer.count("a newer program</script>") == newer.count(f'data-waits="{waits}"') == 1
    assert "addEventListener" not in newer


def test_a_page_follows_the_system_before_any_script_comes(site):
    light_page.lighten(site)
    light_page.lighten(site)
    html = (site / "two.html").read_text()
    assert html.count(scripts.THEME_AT_ONCE) == 1
    assert html.index(scripts.THEME) < html.index(scripts.THEME_AT_ONCE)


def test_code_blocks_are_asked_when_they_are_near(site):
    light_page.lighten(site)
    near = site / "_static" / scripts.NEAR_PARTS
    assert f"_static/{scripts.NEAR_PARTS}?digest=1" in (site / "two.html").read_text()
    assert scripts.ASK_NEAR in near.read_text()
    assert scripts.WHEN_NEAR in near.read_text()


def test_a_theme_that_asks_in_another_way_keeps_its_script(site):
    light_page.lighten(site)
    (site / "_static" / scripts.PARTS).write_text(THEME.replace("tabIndex", "focusable"))
    light_page.lighten(site)
    assert f"_static/{scripts.PARTS}?digest=1" in (site / "two.html").read_text()
    assert not (site / "_static" / scripts.NEAR_PARTS).exists()


def test_icons_are_drawings_and_plots_keep_their_place(site):
    light_page.lighten(site)
    html = (site / "two.html").read_text()
    assert '<svg class="svg-inline--fa fa-bars"' in html
    assert 'loading="lazy" decoding="async" width="640" height="480"' in html


def test_a_second_run_writes_nothing_and_a_page_written_anew_is_made_light(site):
    light_page.lighten(site)
    files = [site / "book" / "one.html", site / "two.html", site / "_static" / page.SHEET]
    first = [path.read_text() for path in files]
    for path in files:
        os.utime(path, (1, 1))
    light_page.lighten(site)
    assert [path.stat().st_mtime for path in files] == [1, 1, 1]
    (site / "two.html").write_text(
        HEAD.format(root="", extra="extra.css").replace("plain", "unused")
    )
    light_page.lighten(site)
    css = files[2].read_text()
    assert ".unused" in css
    version = css.split()[1]
    assert all(f"{page.SHEET}?v={version}" in path.read_text() for path in files[:2])
    assert first[0].replace(first[2].split()[1], version) == files[0].read_text()


def test_a_page_that_an_earlier_build_left_does_not_stop_this_one(site):
    (site / "old.html").write_text(HEAD.format(root="", extra="gone.css").replace("menu", "gone"))
    light_page.lighten(site)
    assert page.SHEET in (site / "old.html").read_text()


def test_a_folder_without_pages_of_the_theme_is_left_alone(tmp_path):
    (tmp_path / "index.html").write_text("<p>Elsewhere</p>")
    light_page.lighten(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_sheets_keep_their_order_where_pages_leave_some_out():
    a, b, c, d = map(Path, "abcd")
    assert light_page.in_order([[a, c], [a, b, c], [a, c, d]]) == [a, b, c, d]


@pytest.mark.parametrize(
    ("element", "drawn"),
    [
        ('<i class="fas fa-bars"></i>', 'class="svg-inline--fa fa-bars"'),
        ('<span class="fa-solid fa-bars"></span>', 'class="svg-inline--fa fa-bars"'),
        (
            '<i class="theme-switch fa-solid fa-bars   fa-lg" data-mode="auto"></i>',
            'class="svg-inline--fa theme-switch fa-bars fa-lg" data-mode="auto"',
        ),
    ],
)
def test_an_icon_keeps_the_classes_that_the_theme_styles(element, drawn):
    svg = icons.draw(element, {"bars": BAR})
    assert drawn in svg
    assert 'viewBox="0 0 448 512"' in svg
    assert 'd="M0 96"' in svg
    assert 'aria-hidden="true"' in svg


def test_an_unknown_icon_and_other_elements_stay():
    for html in ('<i class="fa-solid fa-new"></i>', '<i class="fa-bars">text</i>', "<i>fa-</i>"):
        assert icons.draw(html, {"bars": BAR}) == html


def test_icons_are_found_by_their_older_names(site):
    known = icons.drawings(site / "_static")
    assert known["navicon"] == known["bars"] == BAR


def test_words_are_names_of_elements_and_all_that_scripts_say():
    html = '<DIV class="a b" id="c" style="x: y" data-k="v"><p hidden>prose</p></DIV>'
    found = sheet.words([html], ["open('later')"]).split()
    assert {"div", "class", "a", "b", "c", "data-k", "v", "hidden", "later"} <= set(found)
    assert not {"prose", "x", "y"} & set(found)


@pytest.mark.parametrize(
    ("rule", "stays"),
    [
        ("html[data-theme=dark] .used{color:red}", True),
        (".used:is(.other,.used){color:red}", True),
        (".used:hover::after{content:''}", True),
        ('[style*="#bf4800"]{color:red}', True),
        ("span.highlighted{color:red}", True),
        (":focus-visible{color:red}", True),
        (".used .never{color:red}", False),
        ("@media print{.never{color:red}}", False),
    ],
)
def test_purging_keeps_what_can_match(rule, stays):
    purged = sheet.purge(rule, sheet.words(['<html data-theme="auto"><p class="used">'], []))
    assert ("color" in purged or "content" in purged) is stays


def test_a_failing_purge_says_why():
    with pytest.raises(RuntimeError, match="CssSyntaxError"):
        sheet.purge(".a{", "a")


def test_the_icon_font_is_cut_to_what_the_rules_show():
    import sphinx_book_theme  # noqa: F401  (brings the theme that holds the font)
    from pydata_sphinx_theme import __file__ as theme

    static = Path(theme).parent / "theme" / "pydata_sphinx_theme" / "static"
    font = next(static.rglob("fa-solid-900.ttf"))
    data = sheet.cut(font, {0xF0C9, 0xF00D})
    assert set(TTFont(io.BytesIO(data)).getBestCmap()) == {0xF0C9, 0xF00D}
    assert len(data) < 3_000
    address = sheet.address(font.with_suffix(".woff2"), static)
    css = f'@font-face{{font-weight:900;src:url({address}) format("woff2")}}'
    cut = sheet.cut_icon_font(
        css + r'.a:before{content:"\f0c9"}.b{content:"' + "\uf00d" + '"}', static
    )
    assert "src:url(data:font/woff;base64," in cut
    assert ".woff2" not in cut


def test_the_theme_still_has_what_is_replaced():
    from pydata_sphinx_theme import __file__ as theme

    static = Path(theme).parent / "theme" / "pydata_sphinx_theme" / "static"
    known = icons.drawings(static)
    used = (
        "angle-left angle-right arrow-up bars download expand file list magnifying-glass moon sun"
    )
    assert set(used.split()) <= set(known)
    assert known["bars"][:2] == (448, 512)
    script = (static / scripts.PARTS).read_text("utf-8")
    assert script.count(scripts.ASK) == script.count(scripts.WHEN) == 1
    for name in scripts.FIRST_USE[1:]:
        assert (static / name.removeprefix("_static/")).exists()


# --- what a page says of itself -------------------------------------------------------------------


def document(*children):
    tree = nodes.document(None, None)
    tree += nodes.section("", nodes.title("", "T"), *children)
    return tree


def bullets(*items):
    texts = [nodes.list_item("", nodes.paragraph("", "", *item)) for item in items]
    return [nodes.paragraph("", nodes_text("You will be able to")), nodes.bullet_list("", *texts)]


def nodes_text(text):
    return nodes.Text(text)


def test_a_chapter_is_described_by_what_it_promises():
    formula = [nodes_text("read "), nodes.math("", r"e^{i\theta}")]
    tree = document(
        nodes.paragraph("", "An opening."),
        *bullets([nodes_text("turn a vector;")], formula, [nodes_text("say what stays.")]),
    )
    assert sharing.description(tree, "T") == "Turn a vector; say what stays."


def test_any_other_page_by_its_first_sentences():
    first = nodes.paragraph("", "", nodes_text("About "), nodes.math("", "x"))
    tree = document(first, nodes.paragraph("", "Two words meet. " + "They talk. " * 40))
    text = sharing.description(tree, "T")
    assert text.startswith("Two words meet. They talk.")
    assert text.endswith("talk.")
    assert len(text) <= sharing.LENGTH


def test_front_matter_wins_and_a_page_without_text_has_a_description_too():
    tree = document(nodes.paragraph("", "Text."))
    tree += nodes.meta("", name="description", content="By hand.")
    assert sharing.description(tree, "T") == "By hand."
    assert sharing.description(None, "Index").startswith("Index: a page of RoPE, Turn by Turn")


def test_one_long_promise_is_cut_between_words():
    text = sharing.fit(["word " * 80], "; ")
    assert text.endswith("word ...")
    assert len(text) <= sharing.LENGTH


@pytest.mark.parametrize(
    ("base", "picture"),
    [("", "../../cards/"), ("https://example.org/rope/", "https://example.org/rope/cards/")],
)
def test_a_page_carries_its_description_and_card(tmp_path, base, picture):
    app = SimpleNamespace(
        builder=SimpleNamespace(format="html"),
        outdir=tmp_path,
        config=SimpleNamespace(html_baseurl=base),
    )
    context = {"title": "Turn &amp; <code>see</code>", "metatags": '<meta name="x" content="y"/>'}
    sharing.share(app, "book/plane/a", "page.html", context, document(nodes.paragraph("", '"A."')))
    tags = context["metatags"]
    assert '<meta name="x" content="y"/>' in tags
    assert 'property="og:title" content="Turn &amp; see"' in tags
    assert 'name="description" content="&quot;A.&quot;"' in tags
    assert f'property="og:image" content="{picture}' in tags
    assert ("og:url" in tags) is bool(base)
    (card,) = (tmp_path / "cards").iterdir()
    assert page.png_size(card) == sharing.SIZE


def test_a_card_is_drawn_once(tmp_path, monkeypatch):
    name = sharing.card("One", tmp_path)
    monkeypatch.setattr(sharing, "draw_card", lambda *_: pytest.fail("drawn again"))
    assert sharing.card("One", tmp_path) == name


def test_the_address_may_come_from_the_environment(monkeypatch):
    config = SimpleNamespace(html_baseurl="")
    monkeypatch.setenv("ROPE_BASE_URL", "https://example.org/")
    sharing.know_the_place(None, config)
    assert config.html_baseurl == "https://example.org/"
    config = SimpleNamespace(html_baseurl="https://own.example/")
    sharing.know_the_place(None, config)
    assert config.html_baseurl == "https://own.example/"
