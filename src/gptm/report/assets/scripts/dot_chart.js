// Rows of dots with whiskers, names at the left.

import { extent, niceTicks, scale, tickText } from "./axes.js";
import { drawing, svg } from "./elements.js";
import { MEASURES, missing, withBand } from "./numbers.js";
import { NAME_SIZE, fontOf, shortTo, textWidth } from "./text_width.js";

export function dotChart({ width, rows, measure, label, small, colour: stroke }) {
  const line = small ? Math.max(3, Math.min(10, 74 / Math.max(rows.length, 1))) : 24;
  const room = small ? 6 : Math.min(0.42 * width, Math.max(...rows.map((row) => textWidth(row.name, fontOf(NAME_SIZE))), 40) + 16);
  const margin = { top: 4, right: small ? 6 : 18, bottom: small ? 4 : 26, left: room };
  const height = margin.top + margin.bottom + line * rows.length;
  const [least, high] = extent(rows.map((row) => [row.value, row.low, row.high]));
  const low = MEASURES[measure].from ?? least;
  const x = scale(low, high === low ? low + 1 : high, margin.left, width - margin.right);
  const upright = (style, at) => svg("line", { class: style, x1: x(at), x2: x(at), y1: margin.top, y2: height - margin.bottom });
  const chart = drawing(width, height, label);
  const ticks = small ? [] : niceTicks(low, high, Math.max(2, Math.floor((width - room) / 110)));
  const text = tickText(measure, ticks);
  for (const at of ticks) {
    chart.append(upright("grid", at), svg("text", { class: "tick", x: x(at), y: height - 8, "text-anchor": "middle" }, text(at)));
  }
  if (low < 0 && high > 0) chart.append(upright("zero", 0));
  rows.forEach((row, i) => {
    if (!missing(row.value)) chart.append(dotOf(row, { x, y: margin.top + line * (i + 0.5), line, room, measure, small, stroke }));
  });
  return chart;
}

function dotOf(row, { x, y, line, room, measure, small, stroke }) {
  const name = small ? null : svg("text", { class: "name", x: room - 10, y: y + 4, "text-anchor": "end" }, shortTo(row.name, room - 14, fontOf(NAME_SIZE)));
  const band = missing(row.low) || missing(row.high) ? null : svg("line", { class: "whisker", x1: x(row.low), x2: x(row.high), y1: y, y2: y, stroke });
  return svg(
    "g",
    {},
    svg("title", {}, `${row.name}: ${withBand(measure, row.value, row.low, row.high)}`),
    name,
    band,
    svg("circle", { cx: x(row.value), cy: y, r: small ? Math.min(2.5, line / 2) : 5, fill: stroke }),
  );
}
