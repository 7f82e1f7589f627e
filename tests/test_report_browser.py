"""The report in a browser: it opens, its parts are linked, it can be searched, and it fits a phone."""

import itertools
import json
import shutil
import time

import numpy as np
import pytest

from gptm import CTM, metrics
from gptm.report import report_data, write_report
from test_report import SCORES, K, N, fit, make_corpus, told_model

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium drives the browser")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs Debian's packages chromium and chromium-driver",
)
DESKTOP, PHONE = (1280, 900), (390, 844)
SECTIONS = ["overview", "topics", "map", "correlations", "effects", "search"]


@pytest.fixture(scope="module")
def corpus():
    return make_corpus()


@pytest.fixture(scope="module")
def model(corpus):
    return told_model(corpus)


@pytest.fixture(scope="module")
def data(model, corpus):
    return report_data(model, corpus=corpus, title=f"Notes {corpus.texts[3]}", scores=SCORES)


@pytest.fixture(scope="module")
def address(data, tmp_path_factory):
    return write_report(data, tmp_path_factory.mktemp("page") / "a report.html").as_uri()


class Browser:
    """One headless Chromium, and what we ask of it."""

    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))

    def open(self, address, size=DESKTOP, dark=False):
        media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1}
        screen["mobile"] = size == PHONE
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        self.driver.get("about:blank")  # or a new fragment alone would load nothing
        self.messages()
        self.driver.get(address)
        self.wait(lambda: self.run("return document.getElementById('status').hidden"))
        self.settle()  # charts are drawn once more when their boxes have been measured
        return self

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition):
        return WebDriverWait(self.driver, 20).until(lambda _: condition())

    def find(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def text(self, css):
        return self.find(css).get_property("textContent")

    def texts(self, css):
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
        return self.run(script, css)

    def click(self, css):
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", css)
        self.find(css).click()

    def settle(self):
        """After what has been asked for has been drawn."""
        wait = "requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))"
        self.driver.execute_async_script(wait)

    def messages(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def pixels(self):
        """The map as drawn."""
        self.settle()
        return self.run("return document.getElementById('map-canvas').toDataURL()")


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    yield found
    found.driver.quit()


@pytest.fixture
def page(browser, address):
    browser.open(address)
    yield browser
    assert browser.messages() == []


def chosen(page):
    """Topics that the page says are chosen, wherever it says so."""
    script = (
        "return [...document.querySelectorAll('[aria-pressed=true]')].map(e => +e.dataset.topic)"
    )
    return set(page.run(script))


# Opening


def test_it_opens_without_errors_and_asks_for_nothing(browser, address):
    browser.requests()
    browser.open(address)
    browser.settle()
    assert browser.messages() == []
    asked = {url for url in browser.requests() if not url.startswith(("about:", "data:", "blob:"))}
    assert asked == {address}


def test_every_section_is_there_and_drawn(page):
    assert [s.get_attribute("id") for s in page.all("main > section")] == SECTIONS
    assert all(section.is_displayed() for section in page.all("main > section"))
    assert len(page.all("#topic-list button")) == K
    assert len(page.all("#graph-chart .node")) == K
    assert len(page.all("#bound-chart .curve")) == 1
    assert len(page.all("#effect-terms .term")) == 4
    assert len(page.all("#variance-chart .stack-row")) == K + 1
    blank = "const c = document.createElement('canvas'), m = document.getElementById('map-canvas');"
    blank += "c.width = m.width; c.height = m.height; return c.toDataURL()"
    assert page.pixels() != page.run(blank)


def test_charts_have_names_and_controls_have_labels(page):
    unnamed = """
        const named = e => e.ariaLabel || e.getAttribute('aria-label') || e.getAttribute('aria-hidden')
            || e.textContent.trim() || (e.labels && e.labels.length);
        return [...document.querySelectorAll('button, select, input, svg, canvas, [role=button]')]
            .filter(e => !named(e)).map(e => e.outerHTML.slice(0, 200))"""
    assert page.run(unnamed) == []
    ids = page.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_a_page_without_texts_or_kernel_opens_too(browser, tmp_path):
    X = np.random.default_rng(0).poisson(1.0, (30, 12))
    data = report_data(fit(CTM(12, random_state=0, max_iter=3), X))
    browser.open(write_report(data, tmp_path / "bare.html").as_uri())
    browser.find("#search-input").send_keys("1")
    browser.wait(lambda: browser.all("#search-words li"))
    assert browser.all("#effects") == []
    assert browser.messages() == []


def test_one_topic_and_one_document(browser, tmp_path):
    data = report_data(fit(CTM(1, init="random", random_state=0, max_iter=2), np.ones((1, 3))))
    browser.open(write_report(data, tmp_path / "one.html").as_uri())
    browser.click("#topic-list button")
    assert browser.messages() == []


def test_one_of_a_kind_is_singular(browser, tmp_path):
    X = np.ones((1, 3))
    data = report_data(fit(CTM(1, init="random", random_state=0, max_iter=2), X), texts=["zebra"])
    browser.open(write_report(data, tmp_path / "singular.html").as_uri())
    type_query(browser, "zebra")
    assert "0 words and 1 document. Searched: beginnings of texts." in browser.text("#search-count")
    labels = "return [...document.querySelectorAll('[aria-label]')].map(e => e.ariaLabel)"
    assert {"Map of 1 document", "Graph of 1 topic with 0 lines"} <= set(browser.run(labels))


def test_a_browser_that_cannot_unpack_says_so(browser, address):
    script = {"source": "delete window.DecompressionStream"}
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
    try:
        browser.driver.get("about:blank")
        browser.driver.get(address)
        browser.wait(lambda: "this browser is too old" in browser.text("#status"))
        assert browser.find("#topic-table").get_property("rows")
        assert not browser.find("#map").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd(
            "Page.removeScriptToEvaluateOnNewDocument", {"identifier": added["identifier"]}
        )
        browser.messages()


# The selection


@pytest.mark.parametrize(
    "place",
    [
        "#topic-list button",
        "#graph-chart .node",
        ".multiple",
        "#variance-chart button",
        "#map-legend button",
    ],
)
def test_choosing_a_topic_anywhere_shows_it_everywhere(page, data, place):
    before = page.pixels()
    page.click(f"{place}[data-topic='2']")
    page.settle()
    name = f"2: {data['topics'][2]['label']}"
    assert page.text("#topic-name") == name
    assert page.text("#topic-again") == name
    assert chosen(page) == {2}
    assert Select(page.find("#topic-select")).first_selected_option.get_attribute("value") == "2"
    assert all(title.startswith(name) for title in page.texts(".chart-title"))
    assert page.texts("#topic-words th button")[0] in data["topics"][2]["words"]
    assert name in page.text("#announce")
    assert page.run("return location.hash") == "#topic=2"
    assert page.pixels() != before
    for part in ("#topic-list", "#graph-chart", ".term:last-child", "#variance-chart"):
        assert len(page.all(f"{part} [aria-pressed=true]")) == 1
    page.click("#topic-clear")
    assert chosen(page) == set()
    assert page.text("#announce") == "All topics are shown."
    assert page.pixels() == before


def test_the_list_in_the_bar_chooses(page):
    Select(page.find("#topic-select")).select_by_value("1")
    assert chosen(page) == {1}
    Select(page.find("#topic-select")).select_by_value("")
    assert chosen(page) == set()


def test_a_link_shows_the_same_view_and_back_goes_back(browser, address):
    browser.open(f"{address}#topic=3&search=comet&colour=party&document=5")
    assert chosen(browser) == {3}
    assert browser.find("#search-input").get_property("value") == "comet"
    assert browser.find("#map-colour").get_property("value") == "party"
    assert "n5" in browser.text("#map-document")
    browser.click("#topic-list [data-topic='0']")
    assert chosen(browser) == {0}
    browser.driver.back()
    browser.wait(lambda: chosen(browser) == {3})
    assert browser.messages() == []


@pytest.mark.parametrize(
    "wrong", ["topic=99", "topic=-1", "topic=x", "document=9999", "colour=%3Cb%3E", "%"]
)
def test_a_wrong_link_shows_everything(browser, address, wrong):
    browser.open(f"{address}#{wrong}")
    assert chosen(browser) == set()
    assert browser.messages() == []


def test_the_keyboard_is_enough(page):
    node = "#graph-chart .node[data-topic='1']"
    page.run("document.querySelector(arguments[0]).focus()", node)
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert chosen(page) == {1}
    focused = page.driver.switch_to.active_element
    assert focused.get_attribute("data-topic") == "1"  # drawn anew, and still in focus
    focused.send_keys(Keys.ESCAPE)
    assert chosen(page) == set()
    before = page.pixels()
    page.find("#map-canvas").send_keys("+", Keys.ARROW_LEFT)
    assert page.pixels() != before
    page.click("#map-reset")
    assert page.pixels() == before
    page.find("body").send_keys(Keys.TAB)
    page.run("document.querySelector('.skip').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.run("return document.activeElement.id") == "topics-title"


@pytest.mark.parametrize("place", ["#graph-chart .node", "#effect-terms .multiple"])
def test_the_keyboard_stays_when_a_chart_is_drawn_again(page, place):
    focused = "return document.activeElement.matches(arguments[0]) && document.activeElement.dataset.topic"
    page.run("document.querySelector(arguments[0]).focus()", f"{place}[data-topic='1']")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert chosen(page) == {1}
    assert page.run(focused, place) == "1"
    screen = {"width": 900, "height": 700, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    page.settle()
    assert page.run(focused, place) == "1"


# Topics


@pytest.mark.parametrize("lambda_", [0.0, 0.6, 1.0])
def test_the_slider_orders_words_by_relevance(page, model, lambda_):
    page.click("#topic-list [data-topic='1']")
    move = "const r = document.getElementById('relevance'); r.value = arguments[0];"
    page.run(move + "r.dispatchEvent(new Event('input'))", lambda_)
    share = model.topics()["share"].to_numpy()
    relevance = metrics.relevance(model.components_, share @ model.components_, lambda_)[1]
    names = list(model.feature_names_in_)
    found = [relevance[names.index(word)] for word in page.texts("#topic-words th button")]
    assert np.all(np.diff(found) <= 2e-3)  # rounded
    assert abs(found[0] - relevance.max()) < 2e-3
    assert float(page.text("#relevance-value")) == lambda_


def test_topics_can_be_ordered(page, data):
    Select(page.find("#topic-order")).select_by_value("topic")
    assert page.texts("#topic-list .topic-number") == [str(i) for i in range(K)]
    Select(page.find("#topic-order")).select_by_value("coherence")
    order = np.argsort([-t["coherence"] for t in data["topics"]], kind="stable")
    assert page.texts("#topic-list .topic-number") == [str(i) for i in order]


def test_a_word_of_a_topic_is_searched_for(page):
    word = page.texts("#topic-words th button")[0]
    page.click("#topic-words th button")
    assert page.find("#search-input").get_property("value") == word
    assert page.texts("#search-words strong")[0] == word


# Map


def hover(page, row, data):
    """Put the pointer onto a document's dot."""
    script = """
        const canvas = document.getElementById('map-canvas');
        canvas.scrollIntoView({block: 'center'});
        const box = canvas.getBoundingClientRect();
        const w = box.width, h = box.height;
        const x = box.left + w / 2 + arguments[0] * Math.min(0.47 * w, 0.69 * h);
        const y = box.top + h / 2 - arguments[1] * Math.min(0.46 * h, 0.69 * w);
        for (const type of arguments[2]) canvas.dispatchEvent(
            new PointerEvent(type, {clientX: x, clientY: y, pointerId: 1, pointerType: 'mouse', bubbles: true}));"""
    page.run("HTMLElement.prototype.setPointerCapture = () => {}")
    place = data["documents"]["x"][row], data["documents"]["y"][row]
    return lambda *types: page.run(script, *place, list(types))


def test_pointing_at_a_dot_shows_its_text_and_clicking_keeps_it(page, data):
    point = hover(page, 40, data)
    point("pointermove")
    assert page.find("#map-tip").is_displayed()
    assert "Note" in page.text("#map-tip .text")
    point("pointerdown", "pointerup")
    assert not page.find("#map-tip").is_displayed()
    assert page.find("#map-document").is_displayed()
    assert "document=" in page.run("return location.hash")
    page.click("#map-document > button")
    assert not page.find("#map-document").is_displayed()


def test_the_map_can_be_coloured_by_metadata(page):
    before = page.pixels()
    Select(page.find("#map-colour")).select_by_visible_text("party")
    assert page.pixels() != before
    legend = page.texts("#map-legend li")
    assert set(legend) == {"left", "right", "<b>bold</b>"}
    Select(page.find("#map-colour")).select_by_visible_text("date")
    assert page.texts("#map-legend li")[0] == "1900-01-01"
    Select(page.find("#map-colour")).select_by_visible_text("<i>size")
    page.click("#topic-list [data-topic='0']")
    assert page.pixels() != before


def test_a_column_named_topic_is_a_column(browser, data, tmp_path):
    column = {"name": "topic", "kind": "category", "levels": ["tea"], "values": [0] * N}
    documents = data["documents"] | {"metadata": [column]}
    browser.open(write_report(data | {"documents": documents}, tmp_path / "topic.html").as_uri())
    assert len(browser.all("#map-legend li")) == K
    Select(browser.find("#map-colour")).select_by_visible_text("topic")
    assert browser.texts("#map-legend li") == ["tea"]
    assert browser.run("return location.hash") == "#colour=topic"


def test_the_table_of_documents_follows_the_topic(page, model):
    page.click("#map-details summary")
    page.wait(lambda: page.all("#map-table tbody tr"))
    page.click("#topic-list [data-topic='2']")
    first = int(page.text("#map-table tbody th").removeprefix("n"))
    share = model.doc_topics_[:, 2]
    assert share[first] >= share.max() - 0.001  # the page has three decimals
    page.click("#map-more")
    assert len(page.all("#map-table tbody tr")) == 50


def test_words_and_dates_in_tables_are_not_broken(page):
    page.click("#map-details summary")
    page.wait(lambda: page.all("#map-table tbody tr"))
    broken = """
        const lines = e => {
            const range = document.createRange();
            range.selectNodeContents(e);
            return range.getClientRects().length;
        };
        return [...document.querySelectorAll('#map-table th, #map-table td')]
            .filter(e => /^[\\w-]+$/.test(e.textContent) && lines(e) > 1).map(e => e.textContent)"""
    assert page.run(broken) == []


def test_a_hundred_thousand_dots_are_drawn_smoothly(browser, data, tmp_path):
    n, columns = 100_000, data["documents"]
    rng = np.random.default_rng(0)
    many = {
        "position": list(range(n)),
        "id": None,
        "x": rng.uniform(-1, 1, n).round(4).tolist(),
        "y": rng.uniform(-1, 1, n).round(4).tolist(),
        "topics": [columns["topics"][i % N] for i in range(n)],
        "shares": [columns["shares"][i % N] for i in range(n)],
        "text": [columns["text"][i % N][:40] for i in range(n)],
        "metadata": [],
    }
    path = write_report(data | {"documents": many}, tmp_path / "many.html")
    browser.open(path.as_uri())
    assert path.stat().st_size < 12e6
    taken = []
    for _ in range(3):
        browser.click("#map-in")
        browser.settle()
        taken.append(float(browser.find("#map-canvas").get_attribute("data-milliseconds")))
    assert min(taken) < 200  # without a graphics card, on a busy machine
    assert browser.messages() == []


# Names that are long


LONG = [
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "Bundesministerium für Ernährung, Landwirtschaft und Verbraucherschutz",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
]


@pytest.fixture(scope="module")
def long_address(data, tmp_path_factory):
    """The page with long labels of topics and long categories."""
    topics = [topic | {"label": ", ".join([LONG[i]] * 3)} for i, topic in enumerate(data["topics"])]
    terms = list(data["effects"]["terms"])
    terms[1] = terms[1] | {"levels": LONG[1:]}
    effects = data["effects"] | {"terms": terms}
    long = data | {"topics": topics, "effects": effects}
    return write_report(long, tmp_path_factory.mktemp("long") / "long.html").as_uri()


@pytest.fixture
def painted(browser):
    """Names painted onto the map of the pages opened from now on: text, left, top, right, bottom."""
    script = """
        window.painted = [];
        const paint = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            const half = this.measureText(text).width / 2, size = parseFloat(/([\\d.]+)px/.exec(this.font)[1]);
            window.painted.push([text, x - half, y - size / 2, x + half, y + size / 2]);
            paint.call(this, text, x, y);
        };
        const clear = CanvasRenderingContext2D.prototype.clearRect;
        CanvasRenderingContext2D.prototype.clearRect = function (...box) {
            window.painted = [];
            clear.apply(this, box);
        };"""
    added = browser.driver.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": script}
    )
    yield lambda: browser.settle() or browser.run("return window.painted")
    browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.mark.parametrize("size", [(1400, 900), PHONE, (320, 600)])
@pytest.mark.parametrize("fragment", ["", "#topic=2"])
def test_names_on_the_map_stay_inside_and_apart(browser, long_address, painted, size, fragment):
    browser.open(long_address + fragment, size)
    for place in ("#map-reset", "#map-in", "#map-in"):
        browser.click(place)
        names = painted()
        assert names or place == "#map-in"
        canvas = browser.find("#map-canvas").rect
        for text, left, top, right, bottom in names:
            assert len(text) > 3
            assert left >= 0
            assert top >= 0
            assert right <= canvas["width"]
            assert bottom <= canvas["height"]
        for one, other in itertools.combinations(names, 2):
            beside = one[1] >= other[3] or other[1] >= one[3]
            assert beside or one[2] >= other[4] or other[2] >= one[4], (one[0], other[0])
    assert browser.messages() == []


def test_short_names_on_the_map_are_whole(page, address, painted, data):
    page.open(address)
    assert {name[0] for name in painted()} <= {topic["label"] for topic in data["topics"]}


@pytest.mark.parametrize("size", [(1400, 900), PHONE])
def test_names_in_charts_are_cut_to_the_room_they_have(browser, long_address, size):
    browser.open(long_address, size)
    browser.settle()
    outside = """
        return [...document.querySelectorAll('svg .name, svg .tick, svg .node-name')].filter(e => {
            const text = e.getBoundingClientRect(), chart = e.closest('svg').getBoundingClientRect();
            return text.left < chart.left - 1 || text.right > chart.right + 1;
        }).map(e => e.textContent)"""
    assert browser.run(outside) == []
    names = browser.texts("#effect-terms .term:nth-child(2) .name")
    titles = browser.texts("#effect-terms .term:nth-child(2) .chart g title")
    assert len(names) == len(titles) == 3
    for name, title in zip(names, titles, strict=True):
        assert title.split(": ")[0] in LONG
        assert title.startswith(name.rstrip("…"))
        assert 4 < len(name) < 80
    assert any(name.endswith("…") for name in names)


# Numbers that are large


def test_large_numbers_on_axes(browser, data, tmp_path):
    date, *others = data["effects"]["terms"]
    series = [one | {"x": (1e8 * np.arange(1, 8)).tolist()} for one in date["series"]]
    term = date | {"term": "people", "along": "people", "date": False, "series": series}
    effects = data["effects"] | {"terms": [term, *others]}
    overview = data["overview"] | {"bound": [-2_000_400.0, -2_000_100.0, -2_000_050.0]}
    large = data | {"effects": effects, "overview": overview}
    browser.open(write_report(large, tmp_path / "large.html").as_uri())
    ticks = browser.texts("#effect-terms .term:first-child .chart .tick")
    assert {"100 M", "200 M", "700 M"} <= set(ticks)
    ticks = browser.texts("#bound-chart .tick")
    assert "−2.0002 M" in ticks
    assert len(ticks) == len(set(ticks))  # none is rounded to another's text


def test_a_missing_number_is_a_gap_in_a_curve_and_no_zero(browser, data, tmp_path):
    bound = [-300.0, -200.0, None, -150.0, -140.0]
    date, party, *others = data["effects"]["terms"]
    bare = party["series"][0] | {"share_low": [None, 0.1, 0.1]}
    terms = [date, party | {"series": [bare, *party["series"][1:]]}, *others]
    gaps = data | {
        "overview": data["overview"] | {"bound": bound},
        "effects": data["effects"] | {"terms": terms},
    }
    browser.open(f"{write_report(gaps, tmp_path / 'gaps.html').as_uri()}#topic=0")
    path = browser.find("#bound-chart .curve").get_attribute("d")
    assert (path.count("M"), path.count("L")) == (2, 2)
    assert len(browser.all("#effect-terms .term:nth-child(2) .chart circle")) == 3
    assert len(browser.all("#effect-terms .term:nth-child(2) .chart .whisker")) == 2
    assert browser.messages() == []


# Correlations and effects


def test_the_slider_of_correlations_takes_lines_away(page):
    page.click("#graph-details summary")
    page.wait(lambda: page.all("#graph-table tbody tr"))
    assert len(page.all("#graph-table tbody tr")) == K * (K - 1) // 2
    page.run(
        "const r = document.getElementById('graph-least'); r.value = r.max; r.dispatchEvent(new Event('input'))"
    )
    assert len(page.all("#graph-chart .edge")) <= 1


def test_effects_show_bands_whiskers_and_tables(page):
    terms = page.all("#effect-terms .term")
    assert page.texts("#effect-terms h3") == ["date", "party", "links", "date * party"]
    assert len(terms[0].find_elements(By.CSS_SELECTOR, ".chart .band")) == 1
    assert len(terms[1].find_elements(By.CSS_SELECTOR, ".chart .whisker")) == 3
    assert len(terms[2].find_elements(By.CSS_SELECTOR, ".chart .whisker")) == 10
    assert len(terms[3].find_elements(By.CSS_SELECTOR, ".chart .band")) == 6
    assert len(terms[3].find_elements(By.CSS_SELECTOR, ".legend li")) == 6
    ticks = page.texts("#effect-terms .term:first-child .chart .tick")
    assert "1920" in ticks
    assert any(tick.endswith("%") for tick in ticks)
    page.click("#effect-terms .term:first-child details summary")
    page.wait(lambda: page.all("#effect-terms .term:first-child tbody tr"))
    Select(page.find("#effect-measure")).select_by_value("contrast")
    ticks = page.texts("#effect-terms .term:first-child .chart .tick")
    assert not any(tick.endswith("%") for tick in ticks)


# Search


def type_query(page, text):
    box = page.find("#search-input")
    box.clear()
    box.send_keys(text)
    page.wait(
        lambda: page.run("return new URLSearchParams(location.hash.slice(1)).get('search')") == text
    )


def test_search_finds_words_and_documents(page, corpus):
    before = page.pixels()
    type_query(page, "comet moon")
    expected = sum("comet" in text and "moon" in text for text in corpus.texts)
    assert f"and {expected} documents" in page.text("#search-count")
    assert set(page.texts("#search-words strong")) == {"comet", "moon"}
    assert len(page.all("#search-documents li")) == min(20, expected)
    assert set(page.texts("#search-documents mark")) <= {"comet", "moon"}
    assert page.pixels() != before  # they are ringed on the map
    page.click("#search-more")
    assert len(page.all("#search-documents li")) == min(40, expected)


def test_search_finds_what_the_metadata_say(page, corpus):
    type_query(page, "RIGHT")
    expected = int((corpus.metadata["party"] == "right").sum())
    assert f"0 words and {expected} documents" in page.text("#search-count")
    assert set(page.texts("#search-documents .about mark")) == {"right"}
    type_query(page, "right 1952-")
    inside = corpus.metadata["party"].eq("right") & corpus.metadata["date"].dt.year.eq(1952)
    count = int(inside.sum())
    assert f"and {count} document{'' if count == 1 else 's'}. " in page.text("#search-count")


def test_search_finds_metadata_where_there_are_no_texts(browser, data, tmp_path):
    documents = data["documents"] | {"text": None, "id": None}
    browser.open(write_report(data | {"documents": documents}, tmp_path / "bare.html").as_uri())
    type_query(browser, "right")
    assert "Searched: metadata." in browser.text("#search-count")
    assert len(browser.all("#search-documents li")) == 20


def test_ids_that_are_a_column_too_are_shown_once(browser, data, tmp_path):
    ids = {"name": "id", "kind": "text", "values": data["documents"]["id"]}
    documents = data["documents"] | {"metadata": [ids, *data["documents"]["metadata"]]}
    path = write_report(data | {"documents": documents}, tmp_path / "ids.html")
    browser.open(f"{path.as_uri()}#document=5")
    for about in browser.texts("#topic-documents .about"):
        name, rest = about.split(" · ", 1)
        assert name not in rest
        assert rest.startswith("date ")
    assert browser.texts("#map-document dt")[0] == "date"
    browser.click("#map-details summary")
    browser.wait(lambda: browser.all("#map-table tbody tr"))
    assert browser.texts("#map-table thead th")[:2] == ["document", "date"]


def test_search_inside_the_chosen_topic(page, corpus, model):
    topic = int(model.doc_topics_.sum(0).argmax())
    page.click(f"#topic-list [data-topic='{topic}']")
    type_query(page, "comet")
    page.click("#search-topic")
    inside = model.doc_topics_[:, topic] >= 0.2
    expected = sum("comet" in text for text in corpus.texts[inside])
    assert f"and {expected} document" in page.text("#search-count")


def test_a_document_found_opens_on_the_map(page):
    type_query(page, "note 17:")
    page.click("#search-documents a")
    assert "n17" in page.text("#map-document h3")
    assert "document=17" in page.run("return location.hash")


def test_searching_for_nothing_and_for_odd_things(page):
    for query in ("zzzz", "(", "\\", "[a-z", "<b>"):
        type_query(page, query)
        assert page.text("#search-count")
    page.find("#search-input").send_keys(Keys.BACKSPACE * 10)
    page.wait(lambda: not page.find("#search-results").is_displayed())


# Text stays text


def test_hostile_texts_are_shown_and_never_run(page, corpus):
    type_query(page, "window.hacked")
    assert "</script><script>window.hacked = true" in page.text("#search-documents .text")
    page.click("#search-documents a")
    assert "<img src=x onerror=" in page.text("#map-document .text")
    page.click("#map-details summary")
    Select(page.find("#map-colour")).select_by_visible_text("party")
    page.settle()
    assert page.run("return typeof window.hacked") == "undefined"
    assert page.all("img") == []
    assert page.all("main b") == []
    assert len(page.all("script")) == 2
    assert "window.hacked" in page.driver.title


def test_a_script_that_got_in_would_not_run(browser, address):
    browser.open(address)
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        "document.body.append(s); const d = document.createElement('div');"
        "d.setAttribute('onclick', 'window.hacked = 1'); document.body.append(d); d.click();"
    )
    assert browser.run("return typeof window.hacked") == "undefined"
    assert any("Content Security Policy" in message for message in browser.messages())


# Screens and paper


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [DESKTOP, PHONE, (320, 600)])
def test_nothing_is_wider_than_the_screen(browser, address, size, dark):
    browser.open(f"{address}#topic=1&search=water&document=3", size, dark)
    for summary in browser.all("summary"):
        browser.run("arguments[0].click()", summary)
    browser.settle()
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    outside = """
        const inside = e => e.closest('.scroll, nav, .hidden, .skip, svg, .topic-list');
        return [...document.querySelectorAll('main *, .bar *, header *')].filter(e => !inside(e)
            && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 150))"""
    assert browser.run(outside) == []
    assert browser.messages() == []


def test_dark_mode_is_dark_and_paper_is_light(browser, address):
    shade = "return getComputedStyle(document.body).backgroundColor"
    brightness = lambda: sum(map(int, browser.run(shade)[4:-1].split(",")))  # noqa: E731
    browser.open(address, dark=True)
    assert brightness() < 120
    in_the_dark = browser.pixels()
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert brightness() > 700
    assert browser.pixels() != in_the_dark
    assert browser.run("return document.querySelector('#topics details').open")
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert brightness() < 120
    assert browser.pixels() == in_the_dark


def test_it_prints(browser, address):
    browser.open(address, dark=True)
    paper = browser.driver.execute_cdp_cmd("Page.printToPDF", {})
    assert len(paper["data"]) > 20_000
    time.sleep(0.2)
    assert browser.messages() == []
