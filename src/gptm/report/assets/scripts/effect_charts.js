// The effect of one term on one topic: a large chart, a small one, a table.

import { extent } from "./axes.js";
import { seriesColour } from "./colours.js";
import { curveChart, withReadout } from "./curve_chart.js";
import { topicName } from "./data.js";
import { dotChart } from "./dot_chart.js";
import { fillTable, h } from "./elements.js";
import { MEASURES, dateText, numberText, withBand } from "./numbers.js";
import { state, toggleTopic } from "./selection.js";

const MOST_ROWS = 25; // of a table about a curve

const seriesOf = (term, topic) => term.series.filter((series) => series.topic === topic);

// The value of a series at a place, with its band.
const bandText = (series, measure, i) => withBand(measure, series[measure][i], series[`${measure}_low`][i], series[`${measure}_high`][i]);

function linesOf(term, topic, measure) {
  return seriesOf(term, topic).map((series) => ({
    x: series.x, y: series[measure], low: series[`${measure}_low`], high: series[`${measure}_high`],
    colour: term.lines.length > 1 ? seriesColour(term.lines.indexOf(series.line)) : "var(--accent)",
  }));
}

function rowsOf(term, topic, measure) {
  const [series] = seriesOf(term, topic);
  const levels = series.levels ?? term.levels;
  const rows = levels.map((name, i) => ({ name, value: series[measure][i], low: series[`${measure}_low`][i], high: series[`${measure}_high`][i] }));
  return term.kind === "documents" ? rows : rows.sort((a, b) => b.value - a.value);
}

export function largeChart(term, topic, measure, width) {
  const label = `Effect of ${term.term} on topic ${topicName(topic)}: ${measure === "share" ? "expected share" : "contrast"}. The table below has the numbers.`;
  if (term.kind !== "curve") {
    return [dotChart({ width, rows: rowsOf(term, topic, measure), measure, label, colour: "var(--accent)" })];
  }
  const lines = linesOf(term, topic, measure);
  const height = width < 560 ? 240 : 320;
  const drawn = curveChart({ width, height, lines, dates: term.date, measure, label });
  const say = (i) => readoutAt(term, seriesOf(term, topic), measure, i);
  return [drawn.chart, withReadout(drawn, { width, height, lines, say })];
}

function readoutAt(term, lines, measure, i) {
  const at = term.date ? dateText(lines[0].x[i]) : `${term.along} ${numberText(lines[0].x[i])}`;
  return `${at}: ${lines.map((series) => `${series.line ? `${series.line} ` : ""}${bandText(series, measure, i)}`).join("; ")}`;
}

// Small charts have scales of their own, which show when a topic rises and falls; the caption says how far.
export function smallChart(term, topic, measure) {
  const label = `Topic ${topicName(topic)}`;
  const drawn =
    term.kind === "curve"
      ? curveChart({ width: 180, height: 84, lines: linesOf(term, topic, measure), measure, label, small: true }).chart
      : dotChart({ width: 180, rows: rowsOf(term, topic, measure), measure, label, small: true, colour: "var(--accent)" });
  drawn.setAttribute("aria-hidden", "true");
  const [low, high] = extent(seriesOf(term, topic).map((series) => series[measure]));
  const { text } = MEASURES[measure];
  return h(
    "button",
    { type: "button", class: "multiple", "data-topic": topic, "aria-pressed": String(topic === state.topic), onclick: () => toggleTopic(topic) },
    h("span", {}, topicName(topic)),
    drawn,
    h("span", { class: "fine" }, `${text(low)} to ${text(high)}`),
  );
}

export function effectTable(table, term, topic) {
  const header = [{ text: term.columns.join(", ") || "value" }, { text: "expected share", number: true }, { text: "contrast", number: true }];
  fillTable(table, header, seriesOf(term, topic).flatMap((series) => tableRows(term, series)));
}

function tableRows(term, series) {
  const names = term.kind === "curve" ? series.x.map((at) => (term.date ? dateText(at) : numberText(at))) : (series.levels ?? term.levels);
  const every = term.kind === "curve" ? Math.ceil(names.length / MOST_ROWS) : 1;
  return names
    .map((name, i) => [series.line ? `${name}, ${series.line}` : name, bandText(series, "share", i), bandText(series, "contrast", i)])
    .filter((_, i) => i % every === 0);
}
