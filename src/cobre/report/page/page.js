"use strict";
// Draws the figures of the page when they come into sight, and again when something is chosen, the window or the
// theme changes, or the page is printed. Whatever a case calls its plants goes through textContent, never HTML.
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  const element = (name, text = "", className = "") => {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  // On paper a chart is as wide as the text, A4 without its margins, and low enough for two on a page.
  const PAPER_WIDTH = 680;
  const PAPER_HEIGHT = 0.72;
  const NARROW = 560;
  const MOST_ROWS = 1000;
  const MOST_OPTIONS = 200;
  const STACKED = { top: { anchor: "start", direction: "vertical", margin: 6 } };
  const EMBEDDING = { mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: tip, logLevel: 1 };
  let printing = false;

  // Rows are kept as columns, and equal columns once, in a pool.
  class Figure {
    constructor(section) {
      this.name = section.id;
      this.section = section;
      this.chart = one(".chart", section);
      this.data = one(".data", section);
      this.seen = false;
      this.width = 0;
      this.drawing = Promise.resolve();
      this.choosers = all(".chooser", section).map((box, place) => new Chooser(this, box, place));
      this.data.addEventListener("toggle", () => this.tabulate());
      for (const button of all("[data-save]", section)) {
        button.addEventListener("click", () => this.save(button.dataset.save));
      }
    }

    get content() {
      this.parsed ??= JSON.parse(document.getElementById(`${this.name}-content`).textContent);
      return this.parsed;
    }

    get place() {
      const sizes = this.content.choices.map((choice) => choice.options.length);
      return sizes.reduce((at, size, i) => at * size + this.choosers[i].index, 0);
    }

    get columns() {
      const { pool, each } = this.content;
      return Object.fromEntries(Object.entries(each[this.place]).map(([name, column]) => [name, pool[column]]));
    }

    get rows() {
      const columns = this.columns;
      const names = Object.keys(columns);
      const count = names.length ? columns[names[0]].length : 0;
      return Array.from({ length: count }, (_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
    }

    get words() {
      const chosen = this.choosers.map((chooser) => chooser.label);
      return [one("h2", this.section).textContent, ...chosen].join(", ");
    }

    show() {
      this.seen = true;
      this.draw();
      this.tabulate();
    }

    // One drawing after the other, however fast they are asked for; those that are out of date are left out.
    draw() {
      this.width = printing ? PAPER_WIDTH : this.chart.clientWidth;
      const spec = this.content.specs[printing ? "light" : root.dataset.theme];
      const drawn = { ...fitted(spec, this.width), datasets: { rows: this.rows } };
      this.chart.setAttribute("aria-label", `Chart: ${this.words}. Its numbers are under Data.`);
      one(".caption", this.section).textContent = this.content.captions[this.place];
      this.paper = spec.config.background;
      this.latest = drawn;
      this.drawing = this.drawing.then(() => this.latest === drawn && this.embed(drawn)).catch((error) => {
        console.error(error);
        this.chart.replaceChildren(element("p", `This figure could not be drawn: ${error.message}`));
      });
    }

    async embed(drawn) {
      this.embedded?.finalize();
      const patch = (drawing) => (drawn.width < NARROW ? arranged(drawing, drawn.width) : drawing);
      this.embedded = await vegaEmbed(this.chart, drawn, { ...EMBEDDING, patch });
      this.chart.style.minHeight = "";
    }

    tabulate() {
      if (!this.data.open) return;
      one(".scroll", this.data).replaceChildren(table(this.columns, this.words));
    }

    async save(kind) {
      const name = [document.title.split(" – ")[0], this.name, ...this.choosers.map((chooser) => chooser.label)];
      const file = `${name.map(slug).filter(Boolean).join("-")}.${kind}`;
      if (kind === "csv") return download(file, new Blob([csv(this.columns)], { type: "text/csv;charset=utf-8" }));
      if (!this.seen) this.show();
      await this.drawing;
      const { view } = this.embedded;
      const address = await view.background(this.paper).toImageURL(kind, kind === "png" ? 2 : 1);
      await view.background("transparent").runAsync();
      return download(file, address);
    }
  }

  // A field to search in, with a list below it that narrows, and buttons to go one back or ahead.
  class Chooser {
    constructor(figure, box, place) {
      Object.assign(this, { figure, place, index: 0, active: -1, found: [] });
      this.what = box.dataset.choice;
      this.input = one("input", box);
      this.list = one("ul", box);
      this.count = one(".place", box);
      this.steps = all(".step", box);
      for (const button of this.steps) {
        button.addEventListener("click", () => this.choose(this.index + Number(button.dataset.step)));
      }
      this.input.addEventListener("focus", () => this.input.select());
      this.input.addEventListener("click", () => this.open(""));
      this.input.addEventListener("input", () => this.open(this.input.value));
      this.input.addEventListener("keydown", (event) => this.key(event));
      this.input.addEventListener("blur", () => this.close());
      this.list.addEventListener("pointerdown", (event) => {
        event.preventDefault(); // the field keeps the focus
        const item = event.target.closest("[data-index]");
        if (item) this.choose(Number(item.dataset.index));
      });
    }

    get options() { return this.figure.content.choices[this.place].options; }

    get label() { return this.options[this.index]; }

    choose(index) {
      if (index < 0 || index >= this.options.length) return;
      this.index = index;
      this.close();
      this.figure.show();
      one("#said").textContent = this.figure.words;
      this.count.textContent = `${this.index + 1} of ${this.options.length}`;
      this.steps[0].disabled = this.index === 0;
      this.steps[1].disabled = this.index === this.options.length - 1;
    }

    open(text) {
      const wanted = plain(text);
      this.found = this.options.map((_, i) => i).filter((i) => plain(this.options[i]).includes(wanted));
      this.list.replaceChildren(...this.found.slice(0, MOST_OPTIONS).map((i) => this.item(i)), ...this.rest(text));
      this.list.hidden = false;
      this.input.setAttribute("aria-expanded", "true");
      this.activate(Math.max(this.found.indexOf(this.index), 0));
    }

    item(index) {
      const item = element("li", this.options[index]);
      item.id = `${this.list.id}-${index}`;
      item.dataset.index = index;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(index === this.index));
      return item;
    }

    rest(text) {
      const more = this.found.length - MOST_OPTIONS;
      if (more > 0) return [element("li", `and ${more} more: type to narrow`, "none")];
      return this.found.length ? [] : [element("li", `No ${this.what} matches “${text}”`, "none")];
    }

    activate(place) {
      const items = all("[role=option]", this.list);
      this.active = items.length ? Math.min(Math.max(place, 0), items.length - 1) : -1;
      items.forEach((item, i) => item.classList.toggle("active", i === this.active));
      const item = items[this.active];
      item?.scrollIntoView({ block: "nearest" });
      if (item) this.input.setAttribute("aria-activedescendant", item.id);
      else this.input.removeAttribute("aria-activedescendant");
    }

    key(event) {
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
      if (event.key in moves) {
        if (this.list.hidden) this.open("");
        else this.activate(this.active + moves[event.key]);
      } else if (event.key === "Enter" && this.active >= 0) {
        this.choose(this.found[this.active]);
      } else if (event.key === "Escape" && !this.list.hidden) {
        this.close();
        this.input.select();
      } else return;
      event.preventDefault();
    }

    close() {
      this.list.hidden = true;
      this.active = -1;
      this.input.setAttribute("aria-expanded", "false");
      this.input.removeAttribute("aria-activedescendant");
      this.input.value = this.label;
    }
  }

  // A drawing as wide as its place. Where that is narrow, legends go below each other.
  function fitted({ config, ...spec }, width) {
    const legend = { ...config.legend, ...(width < NARROW && { layout: STACKED }) };
    return {
      ...spec,
      width,
      height: printing ? Math.round(spec.height * PAPER_HEIGHT) : spec.height,
      autosize: { type: "fit-x", contains: "padding" },
      config: { ...config, legend, background: "transparent" },
    };
  }

  // A legend has as many columns as its words leave room for; its own choice is one row, however long.
  function arranged(drawing, width) {
    const scales = new Map((drawing.scales ?? []).map((scale) => [scale.name, scale.domain]));
    for (const legend of drawing.legends ?? []) {
      const domain = [legend.fill, legend.stroke, legend.shape].map((name) => scales.get(name)).find(Array.isArray);
      const longest = Math.max(...(domain ?? []).map((word) => String(word).length));
      if (domain) legend.columns = Math.max(Math.floor((width - 60) / (40 + 6 * (longest + 3))), 1);
    }
    return drawing;
  }

  function tip(handler, event, item, value) {
    const tooltip = one("#tooltip");
    tooltip.hidden = value === null || value === undefined || value === "";
    if (tooltip.hidden) return;
    const entries = typeof value === "object" ? Object.entries(value) : [["", value]];
    const list = element("dl");
    for (const [name, what] of entries) list.append(element("dt", name), element("dd", String(what)));
    tooltip.replaceChildren(list);
    const { width, height } = tooltip.getBoundingClientRect();
    const left = event.clientX + 14 + width > innerWidth ? event.clientX - 14 - width : event.clientX + 14;
    tooltip.style.left = `${Math.max(left, 4)}px`;
    tooltip.style.top = `${Math.min(event.clientY + 14, innerHeight - height - 4)}px`;
  }

  const shown = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 6 });

  // Where a drawing is on its axis is told by words, if there are any.
  function table(columns, words) {
    const places = columns.label ? ["label", "from", "to", "at"] : [];
    const names = [...places.slice(0, 1), ...Object.keys(columns).filter((name) => !places.includes(name))];
    const numeric = new Set(names.filter((name) => columns[name].some((value) => typeof value === "number")));
    const count = names.length ? columns[names[0]].length : 0;
    const made = element("table");
    const more = count > MOST_ROWS ? `. The first ${MOST_ROWS} of ${count} rows; the CSV has all` : "";
    made.append(element("caption", `${words}${more}`));
    const head = made.createTHead().insertRow();
    for (const name of names) {
      const cell = element("th", name === "label" ? "when" : name, numeric.has(name) ? "number" : "");
      cell.scope = "col";
      head.append(cell);
    }
    const body = made.createTBody();
    for (let i = 0; i < Math.min(count, MOST_ROWS); i++) {
      const row = body.insertRow();
      for (const name of names) {
        const value = columns[name][i];
        const text = value === null ? "–" : typeof value === "number" ? shown.format(value) : String(value);
        row.append(element("td", text, numeric.has(name) ? "number" : ""));
      }
    }
    return made;
  }

  function csv(columns) {
    const names = Object.keys(columns);
    const count = names.length ? columns[names[0]].length : 0;
    const lines = Array.from({ length: count }, (_, i) => names.map((name) => field(columns[name][i])).join(","));
    return `\ufeff${[names.map(field).join(","), ...lines].join("\r\n")}\r\n`;
  }

  // Spreadsheets take text that begins so for a formula, and would run it.
  function field(value) {
    if (value === null) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function download(name, what) {
    const link = element("a");
    link.download = name;
    link.href = typeof what === "string" ? what : URL.createObjectURL(what);
    link.click();
    if (typeof what !== "string") setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().trim();
  const slug = (text) => plain(text).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");

  const figures = all(".figure:not(.missing)").map((section) => new Figure(section));
  const byChart = new Map(figures.map((figure) => [figure.chart, figure]));

  const inSight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      inSight.unobserve(target);
      byChart.get(target).show();
    }
  }, { rootMargin: "500px" });
  for (const figure of figures) inSight.observe(figure.chart);

  const resized = new ResizeObserver((entries) => {
    requestAnimationFrame(() => {
      for (const { target } of entries) {
        const figure = byChart.get(target);
        if (figure.seen && !printing && target.clientWidth && target.clientWidth !== figure.width) figure.draw();
      }
    });
  });
  for (const figure of figures) resized.observe(figure.chart);

  // The theme: as the system has it until the reader chooses.
  const button = one("#theme");
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const store = (value) => {
    try { localStorage.setItem("cobre-theme", value); } catch { /* a page opened from a file may not remember */ }
  };
  const kept = () => {
    try { return localStorage.getItem("cobre-theme"); } catch { return null; }
  };

  function setTheme(theme) {
    root.dataset.theme = theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
    one("span", button).textContent = theme === "dark" ? "Light" : "Dark";
    for (const figure of figures) if (figure.seen) figure.draw();
  }
  setTheme(root.dataset.theme);
  button.addEventListener("click", () => {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
    store(root.dataset.theme);
  });
  scheme.addEventListener("change", () => { if (!kept()) setTheme(scheme.matches ? "dark" : "light"); });

  // On paper: everything is drawn, black on white, and what was folded is open. Drawing takes promises but no
  // timers, so it is finished when the browser goes on from the event to lay out the pages.
  let before = null;
  function startPrinting() {
    if (printing) return;
    const folded = all(".run details:not([open])");
    before = { theme: root.dataset.theme, folded };
    printing = true;
    root.dataset.theme = "light";
    for (const details of folded) details.open = true;
    for (const figure of figures) figure.show();
  }
  function stopPrinting() {
    if (!printing) return;
    printing = false;
    for (const details of before.folded) details.open = false;
    setTheme(before.theme);
  }
  addEventListener("beforeprint", startPrinting);
  addEventListener("afterprint", stopPrinting);

  // Which figure is being read.
  const links = new Map(all(".contents a").map((link) => [link.hash.slice(1), link]));
  const reading = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const link = links.get(target.id);
      if (isIntersecting) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-30% 0px -65%" });
  for (const section of all("main > section")) reading.observe(section);
})();
