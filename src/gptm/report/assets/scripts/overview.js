// How the fit went, as a curve.

import { curveChart } from "./curve_chart.js";
import { data } from "./data.js";
import { byId } from "./elements.js";
import { numberText } from "./numbers.js";
import { responsive } from "./redraw.js";

export function startOverview() {
  const { bound, sampled } = data.overview;
  const box = byId("bound-chart");
  const lines = [{ x: bound.map((_, i) => i + 1), y: bound, colour: "var(--accent)" }];
  const label = `${sampled ? "Log-density by sweep" : "Lower bound by iteration"}, from ${numberText(bound[0] ?? 0)} to ${numberText(bound.at(-1) ?? 0)}`;
  responsive(box, (width) => box.replaceChildren(curveChart({ width, height: 190, lines, label }).chart));
}
