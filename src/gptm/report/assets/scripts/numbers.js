// Numbers and dates as people read them.

export const DAY = 864e5; // milliseconds

export const missing = (value) => value === null || value === undefined || Number.isNaN(value);

export function percent(value, digits = 1) {
  return missing(value) ? "–" : minus(`${(100 * value).toFixed(digits)} %`);
}

const minus = (text) => text.replace("-", "−");

export const decimal = (value, digits = 2) => (missing(value) ? "–" : minus(value.toFixed(digits)));

const whole = (value) => value.toLocaleString("en-GB");

export const counted = (count, name) => `${whole(count)} ${name}${count === 1 ? "" : "s"}`;

// Days since 1970 as year, month and day.
export function dateText(days) {
  return missing(days) ? "–" : new Date(days * DAY).toISOString().replace(/^[+]?0*(\d{4,})/, "$1").slice(0, 10);
}

const LARGE = [[1e12, "T"], [1e9, "B"], [1e6, "M"]]; // trillions, billions, millions

// With enough digits to tell it from a number one step away, where there are steps.
export function numberText(value, step = null) {
  const size = Math.abs(value);
  const [unit, sign] = LARGE.find(([least]) => size >= least) ?? [1, ""];
  const decimals = step ? Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / unit) - 1e-9))) : 0;
  if (sign) return minus(`${step ? +(value / unit).toFixed(decimals) : +(value / unit).toPrecision(4)} ${sign}`);
  if (size >= 1e4) return minus(whole(step ? +value.toFixed(decimals) : Math.round(value)));
  return minus(String(+value.toPrecision(5)));
}

// How to write a topic's share, or its contrast; `from` is where an axis of it starts, if anywhere.
export const MEASURES = {
  share: { from: 0, text: (value) => percent(value, Math.abs(value) < 0.1 ? 1 : 0) },
  contrast: { from: null, text: (value) => decimal(value, 2) },
};

// A value with its band, in the words of its measure.
export function withBand(measure, value, low, high) {
  const { text } = MEASURES[measure];
  return `${text(value)} (${text(low)} to ${text(high)})`;
}
