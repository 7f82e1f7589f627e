// Topics as a graph of their correlations.

import { extent } from "./axes.js";
import { N_COLOURS, seriesColour } from "./colours.js";
import { data, placeOfTopic, topicName } from "./data.js";
import { byId, drawing, fillTable, svg } from "./elements.js";
import { counted, decimal, percent } from "./numbers.js";
import { responsive } from "./redraw.js";
import { onChange, state, toggleTopic } from "./selection.js";
import { TICK_SIZE, fontOf, shortTo, textWidth } from "./text_width.js";

export function startGraph() {
  const least = byId("graph-least");
  const box = byId("graph-chart");
  setRange(least);
  const draw = responsive(box, (width) => box.replaceChildren(graphOf(width, Number(least.value))));
  const show = () => {
    byId("graph-least-value").textContent = Number(least.value).toFixed(2);
    draw();
  };
  least.addEventListener("input", show);
  byId("graph-details").addEventListener("toggle", correlationTable);
  onChange((changed) => {
    if (!changed.includes("topic")) return;
    draw();
    correlationTable();
  });
  show();
}

// Of many topics only the strongest ties to begin with: three for every two topics can be told apart.
function setRange(least) {
  const upwards = (value) => String(Math.max(0.1, Math.ceil(value * 50) / 50));
  const values = pairsOf().map(([, , value]) => value).sort((a, b) => b - a);
  const [, most] = extent([values]);
  least.max = upwards(most);
  least.value = upwards(values[Math.ceil(1.5 * data.topics.length)] ?? 0);
}

// Topics i < j with their correlation.
function pairsOf() {
  return data.correlations.matrix.flatMap((row, i) => row.map((value, j) => [i, j, value]).slice(i + 1));
}

const touches = ([i, j]) => i === state.topic || j === state.topic;

function graphOf(width, least) {
  const place = layoutOf(width);
  const pairs = pairsOf().filter(([, , value]) => value >= least);
  const near = new Set(pairs.filter(touches).flatMap(([i, j]) => [i, j]));
  const faded = (i) => state.topic !== null && i !== state.topic && !near.has(i);
  const label = `Graph of ${counted(data.topics.length, "topic")} with ${counted(pairs.length, "line")}`;
  const chart = drawing(width, place.height, label, { role: "group", style: "drawn graph" });
  // All circles before all names: no name hides behind a circle.
  const names = svg("g", { "aria-hidden": "true", class: "node-names" });
  data.topics.forEach((_, i) => names.append(...nameOf(i, place, faded(i))));
  chart.append(...pairs.map((pair) => edgeOf(pair, place)), ...data.topics.map((_, i) => nodeOf(i, place, faded(i))), names);
  return chart;
}

// Where topics are on the screen, how large, and how much room their names have.
function layoutOf(width) {
  const { x, y } = data.correlations;
  const narrow = width < 560;
  const height = Math.round(Math.max(380, Math.min(620, width * (narrow ? 1.15 : 0.55))));
  const [side, end] = narrow ? [58, 48] : [110, 66];
  const largest = Math.max(...data.topics.map((topic) => topic.share), 1e-9);
  return {
    width, height, side, narrow,
    px: (i) => width / 2 + x[i] * (width / 2 - side),
    py: (i) => height / 2 - y[i] * (height / 2 - end),
    radius: (i) => 6 + (narrow ? 10 : 18) * Math.sqrt(data.topics[i].share / largest),
  };
}

function edgeOf([i, j, value], { px, py }) {
  const style = touches([i, j]) ? "edge chosen" : state.topic === null ? "edge" : "edge faded";
  const title = svg("title", {}, `${topicName(i)} and ${topicName(j)}: correlation ${decimal(value)}`);
  return svg("line", { class: style, x1: px(i), y1: py(i), x2: px(j), y2: py(j), "stroke-width": 1 + 9 * value }, title);
}

function nodeOf(i, { px, py, radius }, faded) {
  const chosen = i === state.topic;
  const fill = chosen && placeOfTopic[i] >= N_COLOURS ? "var(--accent)" : seriesColour(placeOfTopic[i]);
  const attributes = {
    class: faded ? "node faded" : "node",
    role: "button",
    tabindex: "0",
    "data-topic": i,
    "aria-pressed": String(chosen),
    "aria-label": `Topic ${topicName(i)}, average share ${percent(data.topics[i].share)}`,
    onclick: () => toggleTopic(i),
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggleTopic(i);
    },
  };
  return svg("g", attributes, svg("circle", { cx: px(i), cy: py(i), r: radius(i), fill }));
}

// Lines of text below a circle.
function nameOf(i, { px, py, radius, width, side, narrow }, faded) {
  const chosen = i === state.topic;
  const words = data.topics[i].label.split(", ");
  const font = fontOf(TICK_SIZE, chosen ? 700 : 400);
  const room = 2 * (side - 12);
  const pair = words.slice(0, 2).join(", ");
  const lines = narrow ? words.slice(0, 2) : textWidth(pair, font) <= room ? [pair, ...words.slice(2)] : words;
  const at = Math.max(side - 10, Math.min(width - side + 10, px(i)));
  const style = `node-name${chosen ? " chosen" : faded ? " faded" : ""}`;
  return lines.map((line, place) =>
    svg("text", { class: style, x: at, y: py(i) + radius(i) + 13 + 14 * place, "text-anchor": "middle" }, shortTo(line, room, font)),
  );
}

function correlationTable() {
  if (!byId("graph-details").open) return;
  const pairs = state.topic === null ? pairsOf() : pairsOf().filter(touches);
  const sorted = pairs.sort((a, b) => b[2] - a[2]);
  const rows = sorted.length > 40 ? [...sorted.slice(0, 20), ...sorted.slice(-20)] : sorted;
  fillTable(
    byId("graph-table"),
    [{ text: "topic" }, { text: "other topic" }, { text: "correlation", number: true }],
    rows.map(([i, j, value]) => [topicName(i), topicName(j), decimal(value)]),
  );
}
