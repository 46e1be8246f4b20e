#!/usr/bin/env python3
"""Opens a report in Chromium without a network and tries it as a reader would. usage: browser.py PAGE.html [FOLDER]

Screenshots and the printed page go into FOLDER, if given. Exit status 1 names the first thing that is wrong.
"""

import base64
import os
import pathlib
import re
import sys

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

DRIVER = "/usr/bin/chromedriver"
WIDE, PHONE = (1280, 900), (390, 844)

# How many pixels of each canvas are not as the first one, and how many colours are among them.
CANVASES = """
return [...document.querySelectorAll('canvas[data-chart]')].map(canvas => {
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  const drawn = pixels.filter(pixel => pixel !== pixels[0]);
  return {name: canvas.dataset.chart, drawn: drawn.length, colours: new Set(drawn).size,
          text: canvas.getAttribute('aria-label')};
});"""


def expect(true, what):
    if not true:
        sys.exit(f"browser.py: {what}")


class Browser:
    def __init__(self, page, folder):
        options = Options()
        for argument in ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,900",
                         "--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.page, self.folder = page, folder

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def open(self, size, dark):
        """A fresh view of the page, without a network, so that any request of the page fails with an error."""
        self.command("Network.enable")
        self.command("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.command("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                     mobile=size == PHONE)
        self.driver.get(self.page.as_uri())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def save(self, name, data):
        if self.folder:
            (self.folder / name).write_bytes(base64.b64decode(data))

    def shoot(self, name):
        height = min(self.run("return document.documentElement.scrollHeight"), 12000)
        width = self.run("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        self.save(f"{name}.png", self.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"])

    def no_errors(self):
        # Reading pixels back, as charts_drawn does, is what the browser advises against.
        messages = [entry for entry in self.driver.get_log("browser") if "willReadFrequently" not in entry["message"]]
        expect(not messages, f"the console says: {messages}")
        asked = self.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
        expect(all(name.startswith("data:") for name in asked), f"the page asked for {asked}")

    def charts_drawn(self):
        canvases = self.run(CANVASES)
        expect(canvases, "there is no chart")
        for canvas in canvases:
            expect(canvas["drawn"] > 500 and canvas["colours"] > 3, f"chart {canvas['name']} is blank")
            expect(len(canvas["text"]) > 20, f"chart {canvas['name']} says nothing to those who cannot look")
        return canvases

    def spies_are_legible(self):
        """Each spy plot has the colours of its cells, is at least half as wide as a phone, and names the cell under the
        mouse."""
        for canvas in self.driver.find_elements(By.CSS_SELECTOR, "[data-shape] canvas"):
            name = canvas.get_attribute("data-chart")
            width, height, shape = self.run(
                "const b = arguments[0].parentNode; return [b.offsetWidth, b.offsetHeight, Number(b.dataset.shape)]", canvas)
            expect(width >= 195 and abs(height - 70 - width * shape) < 2, f"{name} is {width} x {height} pixels")
            shown = self.run("""
                const chart = Chart.getChart(arguments[0]), cell = chart.getDatasetMeta(0).data[0];
                chart.tooltip.setActiveElements([{datasetIndex: 0, index: 0}], {x: cell.x, y: cell.y});
                return chart.tooltip.body.flatMap(part => part.lines).join(' ');""", canvas)
            expect(re.search(r"output( channel)? 1\b.*(edge|non-zero)", shown), f"{name} says '{shown}' under the mouse")

    def charts_have_their_data(self):
        """Each chart has the points of its data under their names, on the axes that it asks for; the mouse names them."""
        wrong = self.run("""
            const all = JSON.parse(document.getElementById('charts').textContent);
            return [...document.querySelectorAll('canvas[data-chart]')].flatMap(canvas => {
              const given = all[canvas.dataset.chart], chart = Chart.getChart(canvas), wrong = [], sets = chart.data.datasets;
              const check = (found, expected) => {
                const texts = [found, expected].map(value => JSON.stringify(value));
                if (texts[0] !== texts[1]) wrong.push(`${canvas.dataset.chart}: ${texts.join(' instead of ')}`);
              };
              const said = (set, index) => {
                const {x, y} = chart.getDatasetMeta(set).data[index];
                chart.tooltip.setActiveElements([{datasetIndex: set, index}], {x, y});
                return chart.tooltip.body.flatMap(part => part.lines).join(' ');
              };
              const close = (text, value) => Math.abs(Number(text) - value) <= 6e-4 * Math.abs(value);
              if (given.kind === 'spy') {
                const {height, width, rows, columns, counts} = given.grid, cells = sets[0].data, last = cells.length - 1;
                check(cells.map(({row, column, count}) => [row * columns + column, count]),
                      [...counts.entries()].filter(([, count]) => count > 0));
                if (last < 0) return wrong;
                const inside = (cell, cells, length) => [...Array(length).keys()].filter(i => Math.floor(i * cells / length) === cell);
                const [down, along] = [inside(cells[last].row, rows, height), inside(cells[last].column, columns, width)];
                check([cells[last].y, cells[last].x], [down, along].map(all => (all[0] + all[all.length - 1]) / 2 + 1));
                const range = all => all.length > 1 ? `${all[0] + 1} to ${all[all.length - 1] + 1}` : `${all[0] + 1}`;
                const {count} = cells[last], entry = given.grid.entry + (count === 1 ? '' : 's');
                check(said(0, last), `${given.y.title} ${range(down)}, ${given.x.title} ${range(along)} ${count} ${entry}`);
                return wrong;
              }
              const lines = given.kind === 'lines';
              for (const axis of lines ? ['x', 'y'] : ['x']) {
                check([chart.scales[axis].type, chart.scales[axis].options.title.text],
                      [given[axis].logarithmic ? 'logarithmic' : 'linear', given[axis].title]);
                if (given[axis].end) check(chart.scales[axis].max, given[axis].end);
              }
              if (!lines) check(chart.data.labels.map(label => [].concat(label).join(', ')),
                                given.categories.map(name => name.length > 70 ? `\u2026${name.slice(-69)}` : name));
              check(sets.map(set => [set.label, set.data.flatMap((at, x) => lines ? [[at.x, at.y]] : at === null ? [] : [[x, at]])]),
                    given.series.map(series => [series.name, series.points.map(([x, y]) => [x, y]).sort((a, b) => lines ? 0 : a[0] - b[0])]));
              given.series.forEach((series, set) => {
                if (series.points.length === 0) return;
                const [x, y, label] = series.points[0], text = said(set, lines ? 0 : x), numbers = text.split(': ').pop().split(', ');
                check(text.startsWith([series.name, label].filter(Boolean).join(', ') + ': '), true);
                check(lines ? close(numbers[0], x) && close(numbers[1], y) : close(numbers[0], y), true);
              });
              return wrong;
            });""")
        expect(not wrong, f"charts differ from their data: {wrong}")

    def no_overflow(self):
        wide, window = self.run("return [document.documentElement.scrollWidth, innerWidth]")
        expect(wide <= window, f"the page is {wide} pixels wide in a window of {window}")


    def axes_are_legible(self):
        """No two numbers at an axis run into one another, nor out of the picture."""
        clashes = self.run("""
            return [...document.querySelectorAll('canvas[data-chart]')].flatMap(canvas => {
              const chart = Chart.getChart(canvas);
              return Object.values(chart.scales).flatMap(scale => {
                chart.ctx.font = `${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
                const along = scale.isHorizontal();
                const ends = scale.ticks.map((tick, i) => {
                  const middle = scale.getPixelForTick(i), lines = [].concat(tick.label);
                  const size = along ? Math.max(...lines.map(line => chart.ctx.measureText(line).width)) : 11 * lines.length;
                  return {label: lines.join(' '), from: middle - size / 2, to: middle + size / 2,
                          width: Math.max(...lines.map(line => chart.ctx.measureText(line).width))};
                }).filter(end => end.label !== '').sort((a, b) => a.from - b.from);
                const clash = ends.filter((end, i) => i > 0 && end.from < ends[i - 1].to + (along ? 2 : 0));
                const outside = ends.filter(end => along ? end.from < -1 || end.to > chart.width + 1 : end.width > chart.width / 2);
                return [...clash, ...outside].map(end => `${canvas.dataset.chart}: ${end.label}`);
              });
            });""")
        expect(not clashes, f"numbers at an axis overlap or are cut: {clashes}")

    def seen_without_scrolling(self, table, titles):
        """These columns of a table are in the window as it opens."""
        for title in titles:
            right = self.run("""
                const head = [...document.querySelectorAll(`#${arguments[0]} th`)].find(
                    head => head.querySelector('button').firstChild.textContent.trim() === arguments[1]);
                return head ? head.getBoundingClientRect().right : null;""", table, title)
            width = self.run("return innerWidth")
            expect(right is not None and right <= width, f"{table}: {title} ends at {right} of {width} pixels")

    def contents_are_whole(self):
        """Each link of the contents is within the window."""
        cut = self.run("""return [...document.querySelectorAll('nav a')].filter(
            link => link.getBoundingClientRect().right > innerWidth).map(link => link.textContent)""")
        expect(not cut, f"the contents are cut: {cut}")


def columns_are_seen(browser, phone):
    for table, wide, narrow in (("submission", ("infer", "rate", "verdict"), ()),
                                ("models-table", ("verdict", "infer", "rate"), ("verdict",))):
        if browser.run("return document.getElementById(arguments[0])", table):
            browser.seen_without_scrolling(table, narrow if phone else wide)


def column(browser, table, place):
    return browser.run(
        "return [...document.getElementById(arguments[0]).tBodies[0].rows].map(row => row.cells[arguments[1]].dataset.value)",
        table, place)


def heads_of(browser, table):
    return browser.run("return [...document.querySelectorAll(`#${arguments[0]} th`)].map(head => head.textContent)", table)


def sorts(browser, table, title, use):
    place = heads_of(browser, table).index(title)
    head = browser.driver.find_elements(By.CSS_SELECTOR, f"#{table} th")[place]
    browser.run("arguments[0].scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'})", head)
    for state, reverse in (("ascending", False), ("descending", True)):
        use(head.find_element(By.TAG_NAME, "button"))
        expect(head.get_attribute("aria-sort") == state, f"{title}: aria-sort is {head.get_attribute('aria-sort')}")
        values = [float(value) for value in column(browser, table, place) if value is not None]
        expect(values == sorted(values, reverse=reverse), f"{title}: not sorted: {values}")
        expect(len(set(values)) > 1, f"{title}: nothing to sort")


def sorting_works(browser):
    """Sorting by mouse, and by keyboard alone; numbers as numbers, and unknown values last."""
    if browser.run("return document.getElementById('nodes-table')"):  # the page of a model
        return sorts(browser, "nodes-table", "weights", lambda button: button.click())
    if browser.run("return document.getElementById('pruned-table')"):  # of a model that was pruned
        return sorts(browser, "pruned-table", "weights", lambda button: button.click())
    if browser.run("return document.getElementById('profile-1')"):  # of runs of models
        return sorts(browser, "profile-1", "time (ms)", lambda button: button.click())
    if browser.run("return !document.getElementById('submission')"):  # the page of a network
        return sorts(browser, "images-table", "after layer", lambda button: button.click())
    heads = heads_of(browser, "submission")
    for title, use in (("infer (ms)", lambda button: button.click()),
                       ("rate (TE/s)", lambda button: button.send_keys(Keys.ENTER)),
                       ("edges", lambda button: button.send_keys(Keys.SPACE))):
        sorts(browser, "submission", title, use)
    known = [value is not None for value in column(browser, "submission", heads.index("computed (TE/s)"))]
    browser.run("document.querySelectorAll('#submission th button')[arguments[0]].click()", heads.index("computed (TE/s)"))
    after = [value is not None for value in column(browser, "submission", heads.index("computed (TE/s)"))]
    expect(after == sorted(known, reverse=True), "computed (TE/s): unknown values are not last")
    sorted_heads = browser.run("return document.querySelectorAll('#submission th:not([aria-sort=none])').length")
    expect(sorted_heads == 1, f"{sorted_heads} columns say that they are sorted")


def keyboard_reaches_everything(browser):
    """The first steps of the Tab key: the link past the contents, the button for colours, the contents, the results."""
    browser.open(WIDE, dark=False)
    reached = []
    for _ in range(60):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.run("const e = document.activeElement; return e.id || e.className || e.tagName"))
    expect(reached[0] == "skip" and reached[1] == "theme", f"Tab goes to {reached[:4]}")
    expect("scroll" in reached and "BUTTON" in reached, f"Tab reaches no table: {reached}")


def colours_follow(browser):
    background = lambda: browser.run("return getComputedStyle(document.body).backgroundColor")
    browser.open(WIDE, dark=False)
    light, light_charts = background(), browser.charts_drawn()
    browser.shoot("light")
    browser.open(WIDE, dark=True)
    dark, dark_charts = background(), browser.charts_drawn()
    browser.shoot("dark")
    expect(light != dark, f"light and dark are both {light}")
    browser.driver.find_element(By.ID, "theme").click()
    expect(background() == light, "the button does not change the colours")
    browser.no_errors()


def prints(browser):
    pdf = browser.command("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]
    browser.save("print.pdf", pdf)
    content = base64.b64decode(pdf)
    expect(content.startswith(b"%PDF") and len(content) > 20000, "the printed page is empty")
    browser.charts_drawn()  # again as on the screen


def main(arguments):
    page = pathlib.Path(arguments[0]).resolve()
    folder = pathlib.Path(arguments[1]) if len(arguments) > 1 else None
    browser = Browser(page, folder)
    try:
        browser.open(WIDE, dark=False)
        browser.no_errors()
        charts = browser.charts_drawn()
        browser.charts_have_their_data()
        browser.no_overflow()
        browser.axes_are_legible()
        browser.contents_are_whole()
        columns_are_seen(browser, phone=False)
        browser.spies_are_legible()
        sorting_works(browser)
        keyboard_reaches_everything(browser)
        colours_follow(browser)
        prints(browser)
        browser.open(PHONE, dark=False)
        browser.no_overflow()
        browser.axes_are_legible()
        browser.contents_are_whole()
        columns_are_seen(browser, phone=True)
        browser.spies_are_legible()
        browser.charts_drawn()
        browser.shoot("phone")
        browser.no_errors()
        print(f"{len(charts)} charts drawn; sorted by mouse and keyboard; light, dark, phone and paper")
    finally:
        browser.driver.quit()


if __name__ == "__main__":
    main(sys.argv[1:])
