"""A real browser without a window, for the tests of pages. Nothing that a page asks for leaves it."""

import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Computes the contrast (WCAG 2.2, 1.4.3) of every text that is seen against what is painted behind it.
CONTRASTS = """() => {
  const known = new Map(), canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
  const context = canvas.getContext("2d", {willReadFrequently: true});
  const numbers = (colour) => {
    if (!known.has(colour)) {
      context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
      known.set(colour, [...context.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
  };
  const light = (colour) => numbers(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (numbers(colour)[3] === 255) return colour;
    }
    return "white";
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement, style = getComputedStyle(node);
    if (!text.data.trim() || !node.getClientRects().length) continue;
    if (node.closest(".unseen, [disabled], script")) continue;
    const opacity = Number(style.opacity) * Number(style.fillOpacity || 1);
    if (opacity === 0) continue;
    const [a, b] = [light(node.closest("svg") ? style.fill : style.color), light(behind(node))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), text.data.trim().slice(0, 40)]);
  }
  return found;
}"""


@contextmanager
def started():
    """The browser. It is closed whatever happens."""
    with sync_playwright() as driver:
        found = [shutil.which(name) for name in NAMES]
        found += [path for path in [driver.chromium.executable_path] if Path(path).exists()]
        known = next((path for path in found if path), None)
        if known is None:
            pytest.skip("there is no browser here; install chromium")
        browser = driver.chromium.launch(executable_path=known, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Opened:
    """A page in a browser: ``page`` of Playwright's, what went wrong, and what it asked others for."""

    def __init__(self, context, path):
        self.problems, self.asked, self._address = [], [], Path(path).absolute().as_uri()
        context.route("**/*", self._route)
        context.on("weberror", lambda error: self.problems.append(str(error.error)))
        self.page = context.new_page()
        self.page.on("console", self._hear)
        self.page.on("dialog", self._refuse)
        self.page.goto(self._address)

    def _route(self, route):
        if route.request.url.split("#")[0] == self._address:
            route.continue_()
        else:
            self.asked.append(route.request.url)
            route.abort()

    def _hear(self, message):
        if message.type in {"error", "warning"}:
            self.problems.append(message.text)

    def _refuse(self, dialog):
        self.problems.append(dialog.message)
        dialog.dismiss()

    def figure(self, name):
        """A figure that has been drawn."""
        section = self.page.locator(f"#{name}")
        section.scroll_into_view_if_needed()
        section.locator(".chart").scroll_into_view_if_needed()
        section.locator(".chart svg").wait_for()
        return section

    def drawing(self, name):
        """The shapes of a figure's marks."""
        marks = (
            self.figure(name)
            .locator(".chart svg")
            .evaluate(
                "svg => [...svg.querySelectorAll('[class*=mark-] path, [class*=mark-] line')]"
                ".map((mark) => mark.getAttribute('d') + mark.getAttribute('transform'))"
            )
        )
        return [mark for mark in marks if mark]

    def table(self, name):
        """The rows of a figure's table of data, as texts."""
        details = self.figure(name).locator("details.data")
        if not details.evaluate("details => details.open"):
            details.locator("summary").click()
        return details.locator("tbody").evaluate(
            "body => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
        )

    def saved(self, name, kind):
        """What the button of a figure saves: the file's name and content."""
        with self.page.expect_download() as waiting:
            self.figure(name).locator(f"[data-save={kind}]").click()
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()

    @property
    def too_wide(self):
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")

    def contrasts(self):
        """The contrast of each text that is seen, the lowest first."""
        return sorted((ratio, words) for ratio, words in self.page.evaluate(CONTRASTS))


@contextmanager
def opened(browser, path, *, width=1440, scheme="light", script=None):
    """Open a page; afterwards nothing may have gone wrong, and nobody been asked for anything."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    try:
        if script:
            context.add_init_script(script)
        shown = Opened(context, path)
        yield shown
        assert shown.problems == [], shown.problems
        assert shown.asked == [], shown.asked
    finally:
        context.close()


def pages(pdf):
    """The sizes of a PDF's pages in millimetres."""
    found = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    return [tuple(round(float(size) / 72 * 25.4) for size in box) for box in found]
