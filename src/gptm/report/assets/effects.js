// What side information does to topics: one large chart per term, small ones of all topics, and shares of variance.

const N_SMALL = 12;

function startEffects() {
  const box = byId("effect-terms");
  if (!box) return;
  const measure = byId("effect-measure");
  const parts = data.effects.terms.map((term) => termPart(term, () => measure.value));
  box.append(...parts.map((part) => part.element));
  const draw = () => parts.forEach((part) => part.draw());
  measure?.addEventListener("change", draw);
  onChange((changed) => {
    if (changed.includes("topic")) draw();
  });
  for (const part of parts) part.draw = responsive(part.element, part.draw);
  if (data.variance) startVariance();
}

// The topic that a term moves most, until one is chosen.
function mostMoved(term) {
  const ranges = new Map();
  for (const series of term.series) {
    const [low, high] = extent([series.share]);
    ranges.set(series.topic, Math.max(ranges.get(series.topic) ?? 0, high - low));
  }
  return [...ranges].sort((a, b) => b[1] - a[1]).map(([topic]) => topic);
}

function termPart(term, measure) {
  const moved = mostMoved(term);
  const large = h("div", { class: "chart" });
  const title = h("h4", { class: "chart-title" });
  const legend = h("ul", { class: "legend" });
  const small = h("div", { class: "multiples" });
  const table = h("table", {});
  const details = h(
    "details",
    { class: "table", ontoggle: () => drawTable() },
    h("summary", {}, "This chart as a table"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": term.term }, table),
  );
  let all = false;
  const more = h("button", { type: "button", onclick: () => { all = true; draw(element.clientWidth); } }, `All ${moved.length} topics`);
  const seen = h("p", { class: "fine" }, whatIsDrawn(term));
  const element = h("div", { class: "term" }, h("h3", {}, term.term), h("figure", {}, title, legend, large), seen, details, h("h4", {}, "All topics, those that change most first, each on its own scale"), small, h("p", {}, more));
  const shown = () => state.topic ?? moved[0];

  function drawTable() {
    if (details.open) effectTable(table, term, shown());
  }

  function draw(width) {
    if (!width) return;
    title.replaceChildren(topicName(shown()), state.topic === null ? h("span", { class: "fine" }, " (changes most; choose another)") : "");
    large.replaceChildren(...largeChart(term, shown(), measure(), width));
    legend.replaceChildren(...(term.lines?.length > 1 ? term.lines.map((name, i) => h("li", {}, h("span", { class: "dot", "data-colour": i }), name)) : []));
    drawTable();
    const topics = all ? moved : moved.slice(0, N_SMALL);
    if (state.topic !== null && !topics.includes(state.topic)) topics.push(state.topic);
    small.replaceChildren(...topics.map((topic) => smallChart(term, topic, measure())));
    more.hidden = all || moved.length <= N_SMALL;
  }
  return { element, draw };
}

// A curve runs along one column; what it says of the others.
function whatIsDrawn(term) {
  if (term.kind !== "curve") return "";
  const others = term.columns.filter((name) => name !== term.along).join(", ");
  if (term.n_lines > term.lines.length) return `${term.lines.length} of ${term.n_lines} values of ${others} are drawn.`;
  return term.lines.length === 1 && term.lines[0] ? `Along ${term.along}, at ${others} ${term.lines[0]}.` : "";
}

function linesOf(term, topic, measure) {
  return term.series
    .filter((series) => series.topic === topic)
    .map((series) => ({
      x: series.x, y: series[measure], low: series[`${measure}_low`], high: series[`${measure}_high`], name: series.line,
      colour: term.lines.length > 1 ? seriesColour(term.lines.indexOf(series.line)) : "var(--accent)",
    }));
}

function rowsOf(term, topic, measure) {
  const series = term.series.find((one) => one.topic === topic);
  const levels = series.levels ?? term.levels;
  const rows = levels.map((name, i) => ({ name, value: series[measure][i], low: series[`${measure}_low`][i], high: series[`${measure}_high`][i] }));
  return term.kind === "documents" ? rows : rows.sort((a, b) => b.value - a.value);
}

function largeChart(term, topic, measure, width) {
  const label = `${term.term}: topic ${topicName(topic)}, ${measure === "share" ? "expected share" : "contrast"}; the table below has the numbers`;
  if (term.kind !== "curve") {
    return [dotChart({ width, rows: rowsOf(term, topic, measure), measure, label, colour: "var(--accent)" })];
  }
  const lines = linesOf(term, topic, measure);
  const height = width < 560 ? 240 : 320;
  const drawn = curveChart({ width, height, lines, dates: term.date, measure, label });
  const value = MEASURES[measure].text;
  const say = (i) => {
    const at = term.date ? dateText(lines[0].x[i]) : `${term.along} ${numberText(lines[0].x[i])}`;
    return `${at}: ${lines.map((line) => `${line.name ? `${line.name} ` : ""}${value(line.y[i])} (${value(line.low[i])} to ${value(line.high[i])})`).join("; ")}`;
  };
  return [drawn.chart, withReadout(drawn, { width, height, lines, say })];
}

// Small charts have scales of their own, which show when a topic rises and falls; the caption says how far.
function smallChart(term, topic, measure) {
  const label = `Topic ${topicName(topic)}`;
  const drawn =
    term.kind === "curve"
      ? curveChart({ width: 180, height: 84, lines: linesOf(term, topic, measure), measure, label, small: true }).chart
      : dotChart({ width: 180, rows: rowsOf(term, topic, measure), measure, label, small: true, colour: "var(--accent)" });
  drawn.setAttribute("aria-hidden", "true");
  const [low, high] = extent(term.series.filter((series) => series.topic === topic).map((series) => series[measure]));
  const text = MEASURES[measure].text;
  return h(
    "button",
    { type: "button", class: "multiple", "data-topic": topic, "aria-pressed": String(topic === state.topic), onclick: (event) => chooseSmall(event, topic) },
    h("span", {}, topicName(topic)),
    drawn,
    h("span", { class: "fine" }, `${text(low)} to ${text(high)}`),
  );
}

function chooseSmall(event, topic) {
  const box = event.currentTarget.parentElement;
  toggleTopic(topic);
  box.querySelector(`[data-topic="${topic}"]`)?.focus({ preventScroll: true });
}

function effectTable(table, term, topic) {
  const triple = (series, measure, i) => {
    const text = MEASURES[measure].text;
    return `${text(series[measure][i], 1)} (${text(series[`${measure}_low`][i], 1)} to ${text(series[`${measure}_high`][i], 1)})`;
  };
  const rows = [];
  for (const series of term.series.filter((one) => one.topic === topic)) {
    const names = term.kind === "curve" ? series.x.map((at) => (term.date ? dateText(at) : numberText(at))) : (series.levels ?? term.levels);
    const every = term.kind === "curve" ? Math.ceil(names.length / 25) : 1;
    names.forEach((name, i) => {
      if (i % every === 0) rows.push([series.line ? `${name}, ${series.line}` : name, triple(series, "share", i), triple(series, "contrast", i)]);
    });
  }
  fillTable(table, [{ text: term.columns.join(", ") || "value" }, { text: "expected share", number: true }, { text: "contrast", number: true }], rows);
}

// Shares of variance as stacked bars.

function startVariance() {
  const { terms, rows } = data.variance;
  const shade = (i) => (terms[i] === "unexplained" ? "quiet" : i % N_COLOURS);
  byId("variance-legend").replaceChildren(...terms.map((term, i) => h("li", {}, h("span", { class: "dot", "data-colour": shade(i) }), term)));
  const explained = (row) => row.share.reduce((sum, value, i) => sum + (terms[i] === "unexplained" ? 0 : (value ?? 0)), 0);
  const sorted = [...rows].sort((a, b) => (b.topic === "all") - (a.topic === "all") || explained(b) - explained(a));
  const name = (row) => (row.topic === "all" ? "All topics" : topicName(row.topic));
  const text = (row, i) => `${percent(row.share[i], 0)} (${percent(row.low[i], 0)} to ${percent(row.high[i], 0)})`;
  const box = byId("variance-chart");
  box.replaceChildren(
    ...sorted.map((row) => {
      const bar = h("span", { class: "stack", "aria-hidden": "true" }, row.share.map((value, i) => {
        const piece = h("span", { class: "piece", "data-colour": shade(i), title: `${terms[i]}: ${text(row, i)}` });
        piece.style.width = `${100 * Math.max(value ?? 0, 0)}%`;
        return piece;
      }));
      const label = h("span", { class: "stack-name", title: name(row) }, name(row));
      const amount = h("span", { class: "stack-share" }, percent(explained(row), 0));
      if (row.topic === "all") return h("div", { class: "stack-row all" }, label, bar, amount);
      return h("button", { type: "button", class: "stack-row", "data-topic": row.topic, "aria-pressed": "false", onclick: () => toggleTopic(row.topic) }, label, bar, amount);
    }),
  );
  fillTable(
    byId("variance-table"),
    [{ text: "topic" }, ...terms.map((term) => ({ text: term, number: true }))],
    sorted.map((row) => [name(row), ...terms.map((_, i) => text(row, i))]),
  );
}
