// Shares of variance as stacked bars.

import { N_COLOURS } from "./colours.js";
import { data, topicName } from "./data.js";
import { byId, fillTable, h } from "./elements.js";
import { drawLegend } from "./legend.js";
import { percent } from "./numbers.js";
import { toggleTopic } from "./selection.js";

const REST = "unexplained";

export function startVariance() {
  if (!data.variance) return;
  const { terms, rows } = data.variance;
  const sorted = [...rows].sort((a, b) => (b.topic === "all") - (a.topic === "all") || explained(b) - explained(a));
  drawLegend(byId("variance-legend"), terms.map((text, i) => ({ text, colour: shade(i) })));
  byId("variance-chart").replaceChildren(...sorted.map(stackRow));
  fillTable(
    byId("variance-table"),
    [{ text: "topic" }, ...terms.map((term) => ({ text: term, number: true }))],
    sorted.map((row) => [nameOf(row), ...terms.map((_, i) => shareText(row, i))]),
  );
}

const shade = (i) => (data.variance.terms[i] === REST ? "quiet" : i % N_COLOURS);

const nameOf = (row) => (row.topic === "all" ? "All topics" : topicName(row.topic));

const shareText = (row, i) => `${percent(row.share[i], 0)} (${percent(row.low[i], 0)} to ${percent(row.high[i], 0)})`;

function explained(row) {
  return row.share.reduce((sum, value, i) => sum + (data.variance.terms[i] === REST ? 0 : (value ?? 0)), 0);
}

function stackRow(row) {
  const bar = h("span", { class: "stack", "aria-hidden": "true" }, row.share.map((_, i) => pieceOf(row, i)));
  const label = h("span", { class: "stack-name", title: nameOf(row) }, nameOf(row));
  const amount = h("span", { class: "stack-share" }, percent(explained(row), 0));
  if (row.topic === "all") return h("div", { class: "stack-row all" }, label, bar, amount);
  return h("button", { type: "button", class: "stack-row", "data-topic": row.topic, "aria-pressed": "false", onclick: () => toggleTopic(row.topic) }, label, bar, amount);
}

function pieceOf(row, i) {
  const piece = h("span", { class: "piece", "data-colour": shade(i), title: `${data.variance.terms[i]}: ${shareText(row, i)}` });
  piece.style.width = `${100 * Math.max(row.share[i] ?? 0, 0)}%`;
  return piece;
}
