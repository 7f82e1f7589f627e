// Scales, and ticks at round numbers and dates.

import { DAY, dateText, decimal, missing, numberText, percent } from "./numbers.js";

// Smallest and largest of all numbers in some lists.
export function extent(lists) {
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

// From values to places; what is missing has none, and is NaN.
export const scale = (low, high, from, to) => (value) => {
  if (missing(value)) return NaN;
  return high > low ? from + ((value - low) / (high - low)) * (to - from) : (from + to) / 2;
};

export function niceTicks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.75);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
}

// Days since 1970 that begin a year, a month or a day, with how to write them.
export function dateTicks(low, high, count) {
  const from = new Date(low * DAY);
  const to = new Date(high * DAY);
  const years = to.getUTCFullYear() - from.getUTCFullYear();
  const months = years * 12 + to.getUTCMonth() - from.getUTCMonth();
  const inside = ({ at }) => at >= low && at <= high;
  if (years >= 3) return yearTicks(from.getUTCFullYear(), to.getUTCFullYear(), count).filter(inside);
  if (months >= 2) return monthTicks(from, months, count).filter(inside);
  return niceTicks(low, high, count).map((at) => ({ at, text: dateText(at) }));
}

function yearTicks(first, last, count) {
  return niceTicks(first, last + 1, count)
    .filter(Number.isInteger)
    .map((year) => ({ at: yearStart(year), text: String(year) }));
}

function yearStart(year) {
  const start = new Date(0);
  start.setUTCFullYear(year, 0, 1);
  return start.getTime() / DAY;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function monthTicks(from, months, count) {
  const step = [1, 2, 3, 6].find((size) => months / size <= count) ?? 12;
  const ticks = [];
  for (let i = 0; i <= months + 1; i += step) {
    const start = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + i, 1));
    ticks.push({ at: start.getTime() / DAY, text: `${MONTHS[start.getUTCMonth()]} ${start.getUTCFullYear()}` });
  }
  return ticks;
}

// All ticks of an axis with the same number of digits.
export function tickText(measure, ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  if (!measure) return (value) => numberText(value, ticks.length > 1 ? step : null);
  const unit = measure === "share" ? 0.01 : 1;
  const digits = Math.max(0, Math.min(4, Math.ceil(-Math.log10(step / unit) - 1e-9)));
  return (value) => (measure === "share" ? percent(value, digits) : decimal(value, digits));
}
