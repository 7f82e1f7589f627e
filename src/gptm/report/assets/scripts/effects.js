// Effects of the metadata on topics: for each term one large chart, small ones of all topics, and a table.

import { extent } from "./axes.js";
import { data, topicName } from "./data.js";
import { effectTable, largeChart, smallChart } from "./effect_charts.js";
import { byId, h } from "./elements.js";
import { drawLegend } from "./legend.js";
import { responsive } from "./redraw.js";
import { onChange, state } from "./selection.js";

const N_SMALL = 12;

export function startEffects() {
  const box = byId("effect-terms");
  if (!box) return;
  const measure = byId("effect-measure");
  const parts = data.effects.terms.map((term) => termPart(term, () => measure.value));
  box.append(...parts.map((part) => part.element));
  const draws = parts.map((part) => responsive(part.element, part.draw));
  const drawAll = () => draws.forEach((draw) => draw());
  measure?.addEventListener("change", drawAll);
  onChange((changed) => {
    if (changed.includes("topic")) drawAll();
  });
}

// Topics, those first that a term moves most.
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
  const shown = () => state.topic ?? moved[0];
  let limit = N_SMALL;
  const title = h("h4", { class: "chart-title" });
  const legend = h("ul", { class: "legend" });
  const large = h("div", { class: "chart" });
  const small = h("div", { class: "multiples" });
  const { details, drawTable } = tablePart(term, shown);
  const more = h("button", { type: "button", onclick: showAll }, `Show all ${moved.length} topics`);
  const element = h("div", { class: "term" }, h("h3", {}, term.term), h("figure", {}, title, legend, large), h("p", { class: "fine" }, whatIsDrawn(term)), details, h("h4", {}, "All topics, largest change first (each chart has its own scale)"), small, h("p", {}, more));
  if (term.lines?.length > 1) drawLegend(legend, term.lines.map((text, i) => ({ text, colour: i })));

  function showAll() {
    limit = moved.length;
    draw(element.clientWidth);
  }

  function draw(width) {
    title.replaceChildren(topicName(shown()), state.topic === null ? h("span", { class: "fine" }, " (largest change; choose another topic below)") : "");
    large.replaceChildren(...largeChart(term, shown(), measure(), width));
    drawTable();
    const topics = moved.slice(0, limit);
    if (state.topic !== null && !topics.includes(state.topic)) topics.push(state.topic);
    small.replaceChildren(...topics.map((topic) => smallChart(term, topic, measure())));
    more.hidden = moved.length <= limit;
  }
  return { element, draw };
}

function tablePart(term, shown) {
  const table = h("table", {});
  const details = h(
    "details",
    { class: "table", ontoggle: drawTable },
    h("summary", {}, "This chart as a table"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": term.term }, table),
  );
  function drawTable() {
    if (details.open) effectTable(table, term, shown());
  }
  return { details, drawTable };
}

// A curve runs along one column; how the others are set.
function whatIsDrawn(term) {
  if (term.kind !== "curve") return "";
  const others = term.columns.filter((name) => name !== term.along).join(", ");
  if (term.n_lines > term.lines.length) return `The chart shows ${term.lines.length} of ${term.n_lines} levels of ${others}.`;
  return term.lines.length === 1 && term.lines[0] ? `The chart runs along ${term.along}, with ${others} fixed at ${term.lines[0]}.` : "";
}
