// Curves with bands.

import { dateTicks, extent, niceTicks, scale, tickText } from "./axes.js";
import { drawing, h, svg } from "./elements.js";
import { MEASURES } from "./numbers.js";
import { TICK_SIZE, fontOf, textWidth } from "./text_width.js";

// One chart: `lines` have x, y, low, high and a colour; all share the axes.
export function curveChart({ width, height, lines, dates, measure, label, small }) {
  const [low, high] = extent(lines.map((line) => line.x));
  const [bottom, top] = heights(lines, measure);
  const ticks = small ? [] : niceTicks(bottom, top, 4);
  const text = tickText(measure, ticks);
  const room = 14 + Math.max(...ticks.map((at) => textWidth(text(at), fontOf(TICK_SIZE))), 0);
  const margin = small ? { top: 6, right: 6, bottom: 6, left: 6 } : { top: 14, right: 18, bottom: 28, left: room };
  const x = scale(low, high, margin.left, width - margin.right);
  const y = scale(bottom, top, height - margin.bottom, margin.top);
  const across = (style, at) => svg("line", { class: style, x1: margin.left, x2: width - margin.right, y1: y(at), y2: y(at) });
  const chart = drawing(width, height, label);
  for (const at of ticks) {
    chart.append(across("grid", at), svg("text", { class: "tick", x: margin.left - 8, y: y(at) + 4, "text-anchor": "end" }, text(at)));
  }
  for (const mark of small ? [] : marksAlong(low, high, dates, Math.max(2, Math.floor(width / 110)))) {
    chart.append(svg("text", { class: "tick", x: x(mark.at), y: height - 8, "text-anchor": "middle" }, mark.text));
  }
  if (bottom < 0 && top > 0) chart.append(across("zero", 0));
  chart.append(...lines.filter((line) => line.low).map((line) => bandOf(line, x, y)), ...lines.map((line) => curveOf(line, x, y)));
  return { chart, x, margin };
}

// What the vertical axis must show.
function heights(lines, measure) {
  const [low, high] = extent(lines.flatMap((line) => [line.y, line.low ?? [], line.high ?? []]));
  const bottom = MEASURES[measure]?.from ?? low;
  return [bottom, high === bottom ? bottom + 1 : high];
}

function marksAlong(low, high, dates, count) {
  if (dates) return dateTicks(low, high, count);
  const ticks = niceTicks(low, high, count);
  return ticks.map((at) => ({ at, text: tickText(null, ticks)(at) }));
}

function bandOf(line, x, y) {
  const there = line.x.map((value, i) => [x(value), y(line.high[i])]);
  const back = line.x.map((value, i) => [x(value), y(line.low[i])]).reverse();
  return svg("path", { class: "band", d: `${linePath([...there, ...back])}Z`, fill: line.colour });
}

function curveOf(line, x, y) {
  return svg("path", { class: "curve", d: linePath(line.x.map((value, i) => [x(value), y(line.y[i])])), stroke: line.colour });
}

// Broken where a number is missing.
function linePath(points) {
  let pen = "M";
  const parts = [];
  for (const [x, y] of points) {
    if (Number.isNaN(x) || Number.isNaN(y)) pen = "M";
    else {
      parts.push(`${pen}${x.toFixed(1)},${y.toFixed(1)}`);
      pen = "L";
    }
  }
  return parts.join("");
}

// A rule that follows the pointer, and a sentence that says what is under it.
export function withReadout({ chart, x, margin }, { width, height, lines, say }) {
  const rule = svg("line", { class: "rule", y1: margin.top, y2: height - margin.bottom, visibility: "hidden" });
  const readout = h("p", { class: "readout", "aria-hidden": "true" });
  chart.append(rule);
  chart.addEventListener("pointermove", (event) => {
    const at = ((event.clientX - chart.getBoundingClientRect().left) / chart.getBoundingClientRect().width) * width;
    const values = lines[0].x;
    let nearest = 0;
    values.forEach((value, i) => {
      if (Math.abs(x(value) - at) < Math.abs(x(values[nearest]) - at)) nearest = i;
    });
    rule.setAttribute("x1", x(values[nearest]));
    rule.setAttribute("x2", x(values[nearest]));
    rule.setAttribute("visibility", "visible");
    readout.textContent = say(nearest);
  });
  chart.addEventListener("pointerleave", () => {
    rule.setAttribute("visibility", "hidden");
    readout.textContent = "";
  });
  return readout;
}
