"""A chapter in a real JupyterLab: a slider moves, the figure follows, Python has the new value."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHAPTER = ROOT / "book" / "welcome.ipynb"
# `explorer` is the chapter's own figure; a file tells the test what Python sees of it.
WATCH = """
import json, pathlib
def write(change):
    seen = {"m": explorer.m, "score": explorer.readout["score"]}
    pathlib.Path("seen.json").write_text(json.dumps(seen))
explorer.observe(write, ["m", "readout"])
"""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {seconds} s")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab on a folder with one chapter, and a cell at its end that watches a figure."""
    folder = tmp_path_factory.mktemp("lab")
    notebook = json.loads(CHAPTER.read_text("utf-8"))
    cell = {"cell_type": "code", "id": "watch", "metadata": {}, "outputs": []}
    notebook["cells"].append({**cell, "execution_count": None, "source": WATCH})
    (folder / "chapter.ipynb").write_text(json.dumps(notebook), "utf-8")
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--expose-app-in-browser",
    ]
    options = {
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "IdentityProvider.token": "test",
        "LabApp.extension_manager": "readonly",
        "LabApp.workspaces_dir": folder / "workspaces",
        "LabApp.user_settings_dir": folder / "settings",
    }
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, *(f"--{name}={value}" for name, value in options.items())],
            stdout=log,
            stderr=log,
        )
        address = f"http://127.0.0.1:{port}"

        def answers():
            try:
                return urllib.request.urlopen(f"{address}/api?token=test", timeout=2).status == 200
            except (urllib.error.URLError, OSError):
                return False

        try:
            wait_for(answers, 60, "JupyterLab answers")
            yield f"{address}/lab/tree/chapter.ipynb?token=test", folder
        finally:
            server.terminate()
            server.wait(timeout=20)


@pytest.mark.browser
@pytest.mark.lab
def test_a_slider_in_jupyterlab_moves_the_figure_and_the_trait(lab, browser):
    address, folder = lab
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(address, timeout=60_000)
    page.wait_for_function(
        "window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell')", timeout=60_000
    )
    page.wait_for_function(
        "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'",
        timeout=60_000,
    )
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_selector(".jp-OutputArea .rope-figure svg", timeout=60_000)
    figure = page.locator(".jp-OutputArea .rope-figure").first
    handle = page.locator(".jp-OutputArea .widget-vbox .noUi-handle").first
    handle.scroll_into_view_if_needed()
    # The last cell has run once its execution count is there.
    page.wait_for_function(
        "jupyterapp.shell.currentWidget.content.widgets.at(-1).model.executionCount > 0",
        timeout=60_000,
    )
    before = figure.locator("svg").first.inner_html()
    handle.focus()
    page.keyboard.press("ArrowRight")

    def seen_next():
        """What Python saw last, once neither number is that of the first drawing."""
        path = folder / "seen.json"
        seen = json.loads(path.read_text()) if path.exists() else {"m": 5, "score": -6.162}
        return seen["m"] != 5 and abs(seen["score"] - -6.162) > 1e-3 and seen

    seen = wait_for(seen_next, 20, "Python sees the new value")
    assert seen["m"] == 6
    # One step of 0.4 more: cos 1.6 - 7 sin 1.6 = -0.0292 - 6.9970.
    assert abs(seen["score"] - -7.0262) < 1e-4
    assert figure.locator("svg").first.inner_html() != before
    page.context.close()
