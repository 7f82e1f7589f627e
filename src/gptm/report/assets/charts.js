// Axes, curves with bands, and dots with whiskers, in SVG.

function niceTicks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.75);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// Days since 1970 that begin a year, a month or a day, with how to write them.
function dateTicks(low, high, count) {
  const from = new Date(low * DAY);
  const to = new Date(high * DAY);
  const years = to.getUTCFullYear() - from.getUTCFullYear();
  if (years >= 3) {
    return niceTicks(from.getUTCFullYear(), to.getUTCFullYear() + 1, count)
      .filter(Number.isInteger)
      .map((year) => ({ at: yearStart(year), text: String(year) }))
      .filter(({ at }) => at >= low && at <= high);
  }
  const months = years * 12 + to.getUTCMonth() - from.getUTCMonth();
  if (months >= 2) {
    const step = [1, 2, 3, 6].find((size) => months / size <= count) ?? 12;
    const ticks = [];
    for (let i = 0; i <= months + 1; i += step) {
      const start = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + i, 1));
      const at = start.getTime() / DAY;
      if (at >= low && at <= high) ticks.push({ at, text: `${MONTHS[start.getUTCMonth()]} ${start.getUTCFullYear()}` });
    }
    return ticks;
  }
  return niceTicks(low, high, count).map((at) => ({ at, text: dateText(at) }));
}

function yearStart(year) {
  const start = new Date(0);
  start.setUTCFullYear(year, 0, 1);
  return start.getTime() / DAY;
}

const LARGE = [[1e12, "T"], [1e9, "B"], [1e6, "M"]]; // trillions, billions, millions
// With as many digits as tell it from a number one step away, where steps are known.
function numberText(value, step = null) {
  const size = Math.abs(value);
  const [unit, sign] = LARGE.find(([least]) => size >= least) ?? [1, ""];
  const decimals = step ? Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / unit) - 1e-9))) : 0;
  if (sign) return minus(`${step ? +(value / unit).toFixed(decimals) : +(value / unit).toPrecision(4)} ${sign}`);
  if (size >= 1e4) return minus(whole(step ? +value.toFixed(decimals) : Math.round(value)));
  return minus(String(+value.toPrecision(5)));
}

function extent(lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (missing(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : [0, 1];
}

const scale = (low, high, from, to) => (value) => (high > low ? from + ((value - low) / (high - low)) * (to - from) : (from + to) / 2);

function linePath(points) {
  let pen = "M";
  const parts = [];
  for (const [x, y] of points) {
    if (missing(x) || missing(y)) pen = "M";
    else {
      parts.push(`${pen}${x.toFixed(1)},${y.toFixed(1)}`);
      pen = "L";
    }
  }
  return parts.join("");
}

const MEASURES = {
  share: { from: 0, text: (value) => percent(value, Math.abs(value) < 0.1 ? 1 : 0) },
  contrast: { from: null, text: (value) => decimal(value, 2) },
};

const TICK_SIZE = 12; // pixels, as in the style sheet
const NAME_SIZE = 13;

// All ticks of an axis with the same number of digits.
function tickText(measure, ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  if (!measure) return (value) => numberText(value, ticks.length > 1 ? step : null);
  const unit = measure === "share" ? 0.01 : 1;
  const digits = Math.max(0, Math.min(4, Math.ceil(-Math.log10(step / unit) - 1e-9)));
  return (value) => (measure === "share" ? percent(value, digits) : decimal(value, digits));
}

// One chart of curves: `lines` have x, y, low, high and a colour; all share the axes.
function curveChart({ width, height, lines, dates, measure, label, small }) {
  const [low, high] = extent(lines.map((line) => line.x));
  let [bottom, top] = extent(lines.flatMap((line) => [line.y, line.low ?? [], line.high ?? []]));
  const zero = MEASURES[measure]?.from;
  if (zero === 0) bottom = 0;
  if (top === bottom) top = bottom + 1;
  const ticks = small ? [] : niceTicks(bottom, top, 4);
  const text = tickText(measure, ticks);
  const room = 14 + Math.max(...ticks.map((at) => textWidth(text(at), fontOf(TICK_SIZE))), 0);
  const margin = small ? { top: 6, right: 6, bottom: 6, left: 6 } : { top: 14, right: 18, bottom: 28, left: room };
  const x = scale(low, high, margin.left, width - margin.right);
  const y = scale(bottom, top, height - margin.bottom, margin.top);
  const chart = svg("svg", { class: "drawn", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  if (!small) {
    for (const at of ticks) {
      chart.append(
        svg("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: y(at), y2: y(at) }),
        svg("text", { class: "tick", x: margin.left - 8, y: y(at) + 4, "text-anchor": "end" }, text(at)),
      );
    }
    const count = Math.max(2, Math.floor(width / 110));
    const numbers = dates ? [] : niceTicks(low, high, count);
    const marks = dates ? dateTicks(low, high, count) : numbers.map((at) => ({ at, text: tickText(null, numbers)(at) }));
    for (const mark of marks) {
      chart.append(svg("text", { class: "tick", x: x(mark.at), y: height - 8, "text-anchor": "middle" }, mark.text));
    }
  }
  if (bottom < 0 && top > 0) chart.append(svg("line", { class: "zero", x1: margin.left, x2: width - margin.right, y1: y(0), y2: y(0) }));
  for (const line of lines) {
    if (line.low) {
      const there = line.x.map((value, i) => [x(value), y(line.high[i])]);
      const back = line.x.map((value, i) => [x(value), y(line.low[i])]).reverse();
      chart.append(svg("path", { class: "band", d: `${linePath([...there, ...back])}Z`, fill: line.colour }));
    }
  }
  for (const line of lines) {
    chart.append(svg("path", { class: "curve", d: linePath(line.x.map((value, i) => [x(value), y(line.y[i])])), stroke: line.colour }));
  }
  return { chart, x, margin };
}

// A rule that follows the pointer, and a sentence that says what is under it.
function withReadout({ chart, x, margin }, { width, height, lines, say }) {
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

// Rows of dots with whiskers, names at the left.
function dotChart({ width, rows, measure, label, small, colour: stroke }) {
  const line = small ? Math.max(3, Math.min(10, 74 / Math.max(rows.length, 1))) : 24;
  const font = fontOf(NAME_SIZE);
  const room = small ? 6 : Math.min(0.42 * width, Math.max(...rows.map((row) => textWidth(row.name, font)), 40) + 16);
  const margin = { top: small ? 4 : 4, right: small ? 6 : 18, bottom: small ? 4 : 26, left: room };
  const height = margin.top + margin.bottom + line * rows.length;
  let [low, high] = extent(rows.map((row) => [row.value, row.low, row.high]));
  if (MEASURES[measure].from === 0) low = 0;
  const x = scale(low, high === low ? low + 1 : high, margin.left, width - margin.right);
  const chart = svg("svg", { class: "drawn", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const bottom = height - margin.bottom;
  if (!small) {
    const ticks = niceTicks(low, high, Math.max(2, Math.floor((width - room) / 110)));
    const text = tickText(measure, ticks);
    for (const at of ticks) {
      chart.append(
        svg("line", { class: "grid", x1: x(at), x2: x(at), y1: margin.top, y2: bottom }),
        svg("text", { class: "tick", x: x(at), y: height - 8, "text-anchor": "middle" }, text(at)),
      );
    }
  }
  if (low < 0 && high > 0) chart.append(svg("line", { class: "zero", x1: x(0), x2: x(0), y1: margin.top, y2: bottom }));
  rows.forEach((row, i) => {
    if (missing(row.value)) return;
    const y = margin.top + line * (i + 0.5);
    const title = `${row.name}: ${MEASURES[measure].text(row.value)} (${MEASURES[measure].text(row.low)} to ${MEASURES[measure].text(row.high)})`;
    chart.append(
      svg(
        "g",
        {},
        svg("title", {}, title),
        small ? null : svg("text", { class: "name", x: room - 10, y: y + 4, "text-anchor": "end" }, shortTo(row.name, room - 14, font)),
        svg("line", { class: "whisker", x1: x(row.low), x2: x(row.high), y1: y, y2: y, stroke }),
        svg("circle", { cx: x(row.value), cy: y, r: small ? Math.min(2.5, line / 2) : 5, fill: stroke }),
      ),
    );
  });
  return chart;
}
