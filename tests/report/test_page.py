"""The page that ``cobre report`` writes, in a real browser: drawn, chosen, searched, printed, attacked."""

import csv
import io
import shlex
import subprocess
import sys

import pytest

import cobre
from cobre import report, results
from tests.report.browser import opened, pages
from tests.report.cases import HOSTILE, hostile, wide
from tests.study.cases import copy


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def whole(folders):
    """The page of a run of two workers that has everything."""
    case = copy("cascade", folders / "cascade", iterations=6, scenarios=8)
    return cobre.run(case, num_workers=2).report()


@pytest.fixture(scope="module")
def attacked(folders):
    return cobre.run(hostile(folders / "a <b>bold case")).report()


@pytest.fixture(scope="module")
def large(folders):
    return cobre.run(wide(folders / "wide", stages=60)).report()


@pytest.fixture(scope="module")
def interrupted(folders):
    """The folder of a run that was interrupted when its fourth iteration had finished."""
    case = copy("one-reservoir", folders / "interrupted", iterations=5)

    def stop(progress):
        if progress.iteration == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cobre.run(case, progress_callback=stop)
    return case / "output"


def test_every_figure_is_drawn_and_none_before_it_is_near(browser, whole):
    with opened(browser, whole) as shown:
        assert shown.page.locator(".chart svg").count() < len(report.FIGURES)
        for name in report.FIGURES:
            assert len(shown.drawing(name)) >= 1, name
            assert shown.figure(name).locator(".caption").inner_text()
        assert shown.page.locator("nav a").all_inner_texts() == [
            *(figure.title for figure in report.FIGURES.values()),
            "Run details",
        ]


def test_the_summary_says_what_the_reading_says(browser, whole):
    with opened(browser, whole) as shown:
        said = shown.page.locator(".reading li > span:last-child").all_inner_texts()
        assert [line.replace("\xa0", " ") for line in said] == [*report.reading(results.read(whole.parent))]
        assert shown.page.locator("h1").inner_text() == "cascade"
        assert "2 workers over shm" in shown.page.locator(".about").inner_text()
        assert shown.page.locator(".banner").count() == 0


def test_choosing_changes_the_drawing_and_the_data(browser, whole):
    known = results.read(whole.parent)
    with opened(browser, whole) as shown:
        before, numbers = shown.drawing("storage"), shown.table("storage")
        field = shown.figure("storage").get_by_role("combobox")
        assert field.input_value() == "spring"
        field.fill("Side")
        field.press("Enter")
        assert field.input_value() == "side lake"
        shown.page.wait_for_function(
            "() => document.querySelector('#storage .caption').textContent.includes('side lake')"
        )
        assert shown.drawing("storage") != before
        wanted = report.rows(known, "storage", hydro="side lake")
        cells = shown.table("storage")
        assert cells != numbers
        assert len(cells) == len(wanted["median"])
        place = shown.figure("storage").locator("th").all_inner_texts().index("median")
        shown_numbers = [float(row[place].replace(",", "")) for row in cells]
        assert shown_numbers == pytest.approx(wanted["median"], rel=1e-5)


def test_search_narrows_and_forgives(browser, whole):
    with opened(browser, whole) as shown:
        chooser = shown.figure("storage").locator(".chooser")
        field, options = chooser.get_by_role("combobox"), chooser.get_by_role("option")
        field.click()
        assert options.count() == 5
        assert field.get_attribute("aria-expanded") == "true"
        field.fill("LA")
        assert options.all_inner_texts() == ["side lake", "plain"]
        field.fill("dam")
        assert options.count() == 0
        assert "No hydro matches “dam”" in chooser.inner_text()
        field.press("Enter")
        assert field.input_value() == "dam"  # nothing to choose: go on typing
        field.press("Escape")
        assert field.input_value() == "spring"
        assert field.get_attribute("aria-expanded") == "false"
        field.fill("mou")
        shown.page.locator("h1").click()  # going away chooses nothing
        assert field.input_value() == "spring"


def test_a_keyboard_is_enough(browser, whole):
    with opened(browser, whole) as shown:
        chooser = shown.figure("storage").locator(".chooser")
        field = chooser.get_by_role("combobox")
        field.focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
            field.press(key)
        assert field.input_value() == "gorge"
        field.press("Tab")
        assert shown.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Next hydro"
        for _ in range(9):
            shown.page.keyboard.press("Enter")
        assert (field.input_value(), chooser.locator(".place").inner_text()) == ("mouth", "5 of 5")
        assert chooser.get_by_role("button", name="Next hydro").is_disabled()
        chooser.get_by_role("button", name="Previous hydro").click()
        assert field.input_value() == "plain"
        assert shown.page.locator("#said").inner_text() == "Stored volume, plain"


@pytest.mark.parametrize("width", [390, 1440])
def test_no_window_is_too_narrow(browser, whole, width):
    with opened(browser, whole, width=width) as shown:
        for name in report.FIGURES:
            shown.table(name)
        shown.page.locator(".run summary").click()
        assert shown.too_wide <= 0
        drawn = shown.page.locator(".chart svg").evaluate_all(
            "all => all.map((svg) => svg.getBoundingClientRect().width - svg.parentElement.clientWidth)"
        )
        assert max(drawn) <= 1


def test_figures_follow_the_window(browser, whole):
    with opened(browser, whole) as shown:
        chart = shown.figure("convergence").locator(".chart svg")
        wide_one = float(chart.get_attribute("width"))
        shown.page.set_viewport_size({"width": 700, "height": 900})
        shown.page.wait_for_function(
            "was => document.querySelector('#convergence .chart svg')?.getAttribute('width') < was - 100",
            arg=wide_one,
        )
        assert shown.too_wide <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_both_themes(browser, whole, scheme):
    with opened(browser, whole, scheme=scheme) as shown:
        for name in report.FIGURES:
            shown.table(name)
        shown.page.locator(".run summary").click()
        ratio, words = shown.contrasts()[0]
        assert ratio >= 4.5, words


def test_the_theme_follows_the_system_until_the_reader_chooses(browser, whole):
    colours = """() => [
      getComputedStyle(document.body).backgroundColor,
      getComputedStyle(document.querySelector("#convergence .chart svg text")).fill,
    ]"""
    with opened(browser, whole, scheme="dark") as shown:
        shown.figure("convergence")
        dark = shown.page.evaluate(colours)
        shown.page.emulate_media(color_scheme="light")
        shown.page.wait_for_function(f"was => String(({colours})()[1]) != was", arg=dark[1])
        light = shown.page.evaluate(colours)
        assert light[0] != dark[0]
        shown.page.get_by_role("button", name="Dark").click()
        shown.page.reload()
        shown.figure("convergence")
        assert shown.page.evaluate(colours) == dark
        shown.page.emulate_media(color_scheme="dark")
        shown.page.get_by_role("button", name="Light").click()
        assert shown.page.evaluate("document.documentElement.dataset.theme") == "light"


def test_a_browser_that_remembers_nothing_has_themes_too(browser, whole):
    forgetful = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no'); }});"
    with opened(browser, whole, script=forgetful) as shown:
        shown.page.get_by_role("button", name="Dark").click()
        assert shown.page.evaluate("document.documentElement.dataset.theme") == "dark"


#: Looks at the page at the last moment of printing, when what is on paper is what it was then.
ON_PAPER = """addEventListener("afterprint", () => {
  window.onPaper = {
    drawn: [...document.querySelectorAll(".figure:has(.chart svg path)")].map((one) => one.id),
    theme: document.documentElement.dataset.theme,
    open: document.querySelector(".run details").open,
  };
});"""


def test_paper_has_everything_black_on_white(browser, whole):
    with opened(browser, whole, scheme="dark", script=ON_PAPER) as shown:
        pdf = shown.page.pdf(prefer_css_page_size=True)
        assert shown.page.evaluate("window.onPaper") == {
            "drawn": list(report.FIGURES),
            "theme": "light",
            "open": True,
        }
        assert set(pages(pdf)) == {(210, 297)}
        assert len(pages(pdf)) >= 4
        assert shown.page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert not shown.page.locator(".run details").evaluate("details => details.open")


def test_no_page_break_goes_through_a_figure(browser, whole):
    with opened(browser, whole, width=680) as shown:
        for name in report.FIGURES:
            shown.figure(name)
        shown.page.emulate_media(media="print")
        sections = shown.page.locator(".figure").evaluate_all(
            "all => all.map((one) => [getComputedStyle(one).breakInside, one.getBoundingClientRect().height])"
        )
        assert {kept for kept, _ in sections} == {"avoid"}
        assert max(height for _, height in sections) < (297 - 34) / 25.4 * 96


def test_what_is_saved_is_what_is_shown(browser, whole):
    with opened(browser, whole) as shown:
        field = shown.figure("storage").get_by_role("combobox")
        field.fill("side lake")
        field.press("Enter")
        name, content = shown.saved("storage", "csv")
        assert name == "cascade-storage-side-lake.csv"
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
        wanted = report.rows(results.read(whole.parent), "storage", hydro="side lake")
        assert [float(row["median"]) for row in rows] == wanted["median"]
        assert shown.saved("storage", "svg")[1].startswith(b"<svg")
        assert shown.saved("storage", "png")[1].startswith(b"\x89PNG")


def test_names_stay_text_wherever_they_are_shown(browser, attacked):
    with opened(browser, attacked) as shown:
        for name in report.FIGURES:
            shown.table(name)
        shown.page.locator(".run summary").click()
        for name in ("spring", "gorge", "plain", "mouth"):
            field = shown.figure("storage").get_by_role("combobox")
            field.click()
            field.fill(HOSTILE[name][:12])
            field.press("Enter")
            assert field.input_value() == HOSTILE[name]
            shown.table("storage")
            shown.saved("storage", "svg")
        assert shown.page.locator("h1").inner_text() == "a <b>bold case"
        assert shown.page.evaluate("[window.hacked, document.querySelectorAll('img, h1 b').length]") == [
            None,
            0,
        ]


def test_a_spreadsheet_takes_no_name_for_a_formula(browser, attacked):
    with opened(browser, attacked) as shown:
        content = shown.saved("prices", "csv")[1].decode("utf-8-sig")
        names = {row["series"] for row in csv.DictReader(io.StringIO(content))}
        assert names >= {"'=1+1", HOSTILE["town"]}


def test_the_page_forbids_itself_the_network(browser, whole):
    attempt = """async () => {
      const refused = [];
      addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
      const address = "http://127.0.0.1:9/";
      const failing = (name, properties) => new Promise((onerror) => {
        document.head.append(Object.assign(document.createElement(name), {...properties, onerror}));
      });
      await fetch(address).catch(() => {});
      await failing("img", {src: address});
      await failing("script", {src: address});
      await failing("link", {rel: "stylesheet", href: address});
      return refused;
    }"""
    with opened(browser, whole) as shown:
        refused = set(shown.page.evaluate(attempt))
        assert {"connect-src", "img-src", "script-src-elem", "style-src-elem"} <= refused
        assert len(shown.problems) >= 4  # the browser says so, too
        shown.problems.clear()


def test_a_hundred_and_sixty_plants_are_no_trouble(browser, large):
    assert large.stat().st_size < 8e6
    with opened(browser, large) as shown:
        timing = shown.page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        assert timing < 5000
        chooser = shown.figure("storage").locator(".chooser")
        field, options = chooser.get_by_role("combobox"), chooser.get_by_role("option")
        field.click()
        assert options.count() == 160
        field.fill("137")
        assert options.all_inner_texts() == ["Plant 137"]
        field.press("Enter")
        assert chooser.locator(".place").inner_text() == "138 of 160"
        for name in report.FIGURES:
            shown.figure(name)
        assert shown.too_wide <= 0


def test_an_unfinished_run_has_a_page_that_says_how_to_go_on(browser, interrupted):
    page = report.write(interrupted)
    with opened(browser, page) as shown:
        assert "interrupted after 4 iterations" in shown.page.locator(".banner strong").inner_text()
        assert "training not finished" in shown.page.locator(".status").inner_text()
        assert len(shown.drawing("convergence")) >= 1
        missing = shown.page.locator(".figure.missing")
        assert "storage" in missing.evaluate_all("all => all.map((one) => one.id)")
        assert "The run has not reached this point yet." in missing.first.inner_text()
        command = shown.page.locator(".banner code").inner_text()
    assert report.reading(results.read(interrupted, partial=True))[2].endswith(command)
    assert shlex.split(command)[:2] == ["cobre", "run"]
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert results.read(interrupted).manifest["iterations"]["completed"] == 5


def test_a_training_alone_has_a_page(browser, folders):
    case = copy("one-reservoir", folders / "trained", scenarios=0)
    done = cobre.run(case)
    with opened(browser, done.report()) as shown:
        assert shown.page.locator(".banner").count() == 0
        assert len(shown.drawing("convergence")) >= 1
        assert "set simulation.enabled" in shown.page.locator("#storage").inner_text()
        assert "not been simulated" in shown.page.locator(".reading").inner_text()


def test_a_simulation_alone_has_a_page(browser, folders):
    case = copy("one-reservoir", folders / "simulated")
    trained = cobre.train(case)
    done = cobre.simulate(case, trained, output=folders / "followed")
    page = report.write(done.output_directory)
    with opened(browser, page) as shown:
        assert len(shown.drawing("storage")) >= 1
        assert shown.page.locator("#convergence.missing").count() == 1
        assert shown.page.locator("h1").inner_text() == "followed"
        assert f"{done.mean_cost / 1e6:.2f}"[:2] in shown.page.locator(".key").inner_text()


def test_the_same_results_give_the_same_page(whole):
    assert report.html(whole.parent).encode() == whole.read_bytes()
