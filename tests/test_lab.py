"""A slider moved in a real JupyterLab, in a real browser of 1,280 pixels: the picture and the verdict follow.

Needs jupyterlab, and Chromium with its driver on the path; skips where one is missing. Nothing but 127.0.0.1 is contacted.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
WIDTH, HEIGHT = 1280, 900
START_S = 40.0  # of a server, a page, a kernel, on a busy machine
MOVE_S = 20.0  # of a picture that is on its way; what it takes at its best is a test of its own
T = TypeVar("T")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = [
    what
    for what, found in (
        ("jupyterlab", find_spec("jupyterlab")),
        ("selenium", find_spec("selenium")),
        ("chromium", CHROMIUM),
        ("chromedriver", DRIVER),
    )
    if not found
]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

# Neither a look for news and newer versions nor a question about them; the notebook alone in the window.
OVERRIDES = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
KERNEL_STATUS = "return window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status"
SAID = "return [...document.querySelectorAll('.ddbsim-explore .widget-html-content')].map(e => e.innerText).join('\\n')"
LABELS = ["rate (requests/s)", "skew (zipf exponent)", "shards", "write capacity (units/s)", "mode"]
IS_CUT = "return arguments[0].scrollWidth > arguments[0].clientWidth + 1"
# The bytes that the page shows, for its address is new each time.
READ_PICTURE = """
const done = arguments[0], img = document.querySelector(".ddbsim-explore img");
if (!img || !img.complete || !img.naturalWidth) { done(""); return; }
fetch(img.src).then(r => r.blob()).then(blob => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(",")[1]);
  reader.readAsDataURL(blob);
}).catch(() => done(""));
"""


def wait(what: str, found: Callable[[], T], limit_s: float) -> T:
    """The first true answer of a question, asked ten times a second."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        if answer := found():
            return answer
        time.sleep(0.1)
    raise AssertionError(f"{what} did not come within {limit_s:g} s")


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started, which are a group of their own."""
    for sign, grace_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            continue
    process.wait(5.0)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """Address of a notebook in a JupyterLab that has nothing of the user's."""
    folder, served, token = tmp_path / "lab", tmp_path / "served", secrets.token_hex(16)
    (folder / "settings").mkdir(parents=True)
    served.mkdir()
    cells = [
        new_markdown_cell("# One busy user"),
        new_code_cell("import sim\n\nexplorer = sim.explore()\nexplorer"),
        new_code_cell("explorer.scenario.fields['shard'].count"),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), served / "explore.ipynb")
    (folder / "settings" / "overrides.json").write_text(json.dumps(OVERRIDES))
    port = free_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={served}", "--ServerApp.port_retries=0"]
    command += [f"--LabApp.app_settings_dir={folder / 'settings'}", "--LabApp.news_url=None"]
    command += [f"--LabApp.user_settings_dir={folder / 'user'}", f"--LabApp.workspaces_dir={folder / 'workspaces'}"]
    command += ["--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True"]
    own = {f"JUPYTER_{what}_DIR": str(folder / what.lower()) for what in ("CONFIG", "DATA", "RUNTIME")}
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    env = {**os.environ, **own, "IPYTHONDIR": str(folder / "ipython"), "PYTHONPATH": paths}
    with open(tmp_path / "lab.log", "wb") as log:
        server = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            wait("JupyterLab", lambda: answers(server, f"http://127.0.0.1:{port}/api?token={token}"), START_S)
            yield f"http://127.0.0.1:{port}/lab/tree/explore.ipynb?token={token}&reset"
        finally:
            end(server)


def answers(server: subprocess.Popen[bytes], address: str) -> bool:
    assert server.poll() is None, "JupyterLab ended: see lab.log"
    try:
        with urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    assert CHROMIUM is not None
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path / 'browser'}")
    # Names are not even looked up: whatever is not on this machine is refused.
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    service = Service(DRIVER, popen_kw={"start_new_session": True})
    driver = Chrome(options=options, service=service)
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.set_page_load_timeout(START_S)
        driver.set_script_timeout(START_S)
        yield driver
        driver.save_screenshot(str(tmp_path / "last.png"))  # what a failure left
    finally:
        driver.quit()
        end(service.process)


def test_a_slider_moves_the_picture_and_the_verdict(lab: str, browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    def picture() -> bytes:
        return b64decode(browser.execute_async_script(READ_PICTURE))

    def verdict() -> str:
        return str(browser.execute_script(SAID))

    def command(name: str) -> None:
        browser.execute_script("window.jupyterapp.commands.execute(arguments[0])", f"notebook:{name}")

    browser.get(lab)
    wait("a kernel", lambda: browser.execute_script(KERNEL_STATUS) == "idle", START_S)
    command("run-all-cells")
    before = wait("the picture", picture, START_S)
    assert before.startswith(b"\x89PNG")
    said = wait("the verdict", verdict, MOVE_S)
    assert said.startswith("THROTTLES")
    assert "USER#0#SHARD#0" in said
    found = browser.find_elements(By.CSS_SELECTOR, ".ddbsim-explore .widget-label")
    labels = [label for label in found if label.text]
    assert [label.text for label in labels] == LABELS
    assert not any(browser.execute_script(IS_CUT, label) for label in labels)
    assert not browser.execute_script(IS_CUT, browser.find_element(By.CSS_SELECTOR, ".ddbsim-explore"))
    browser.save_screenshot(str(tmp_path / "before.png"))

    handles = browser.find_elements(By.CSS_SELECTOR, ".ddbsim-explore .noUi-handle")
    assert len(handles) == 4
    handles[2].send_keys(Keys.ARROW_RIGHT * 3)  # from 1 shard to 4
    wait("another verdict", lambda: verdict().startswith("OK"), MOVE_S)  # two shards throttle less, four do not
    after = wait("another picture", lambda: (now := picture()) not in (b"", before) and now, MOVE_S)
    assert after.startswith(b"\x89PNG")
    assert handles[2].get_attribute("aria-valuenow") == "4.0"
    browser.save_screenshot(str(tmp_path / "after.png"))

    # A cell below goes on from where the slider stands.
    command("move-cursor-down")
    command("run-all-below")
    output = ".jp-Cell:last-child .jp-OutputArea-output"
    wait("its output", lambda: [o.text for o in browser.find_elements(By.CSS_SELECTOR, output)] == ["4"], MOVE_S)
    assert outside(browser) == []


def outside(browser: Any) -> list[str]:
    """Addresses beyond this machine that the browser asked for."""
    entries = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    asked = [entry["params"]["request"]["url"] for entry in entries if entry["method"] == "Network.requestWillBeSent"]
    assert any(address.startswith("http://127.0.0.1:") for address in asked)
    return [address for address in asked if re.match(r"(?:http|ws)s?://(?!127\.0\.0\.1[:/])", address)]
