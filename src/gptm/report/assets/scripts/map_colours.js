// Colours of the documents on the map, by topic or by a column of metadata, with their legend.

import { extent, scale } from "./axes.js";
import { N_COLOURS, colour } from "./colours.js";
import { BELONGS, bySize, data, placeOfTopic, shareIn, topicName } from "./data.js";
import { counted, dateText, missing, numberText } from "./numbers.js";
import { state } from "./selection.js";

const N_STEPS = 7; // of a scale of colours

// Colours, the number of each document's colour (0 is quiet), documents in the order in which to draw them, and a legend.
export function colourDocuments() {
  const column = data.documents.metadata.find((other) => other.name === state.colour);
  const scheme = column ? schemeOfColumn(column) : state.topic === null ? schemeOfTopics() : schemeOfTopic(state.topic);
  const faded = (row) => column && state.topic !== null && shareIn(row, state.topic) < BELONGS;
  const numbers = Uint8Array.from(data.documents.x, (_, row) => (faded(row) ? 0 : scheme.number(row)));
  const colours = [colour("--quiet"), ...scheme.names.map(colour)];
  return { colours, numbers, order: sorted(numbers, colours.length), legend: scheme.legend };
}

// A scheme has the style sheet's names of its colours, the number of a document's colour, and a legend.

function schemeOfTopic(topic) {
  const number = (row) => {
    const share = shareIn(row, topic);
    return share < 0.05 ? 0 : 1 + Math.min(N_STEPS - 1, Math.floor(share * N_STEPS));
  };
  return { number, ...steps("small share of the chosen topic", "large share") };
}

function schemeOfTopics() {
  const number = (row) => numberOf(placeOfTopic[data.documents.topics[row][0]]);
  return { number, ...series(bySize.map((topic) => ({ text: topicName(topic), topic }))) };
}

function schemeOfColumn({ kind, levels, values }) {
  if (kind === "category") return { number: (row) => numberOf(values[row]), ...series(levels.map((text) => ({ text }))) };
  const [low, high] = extent([values]);
  const text = kind === "date" ? dateText : numberText;
  const step = scale(low, high, 0, N_STEPS - 1e-9);
  const number = (row) => (missing(values[row]) ? 0 : 1 + Math.floor(step(values[row])));
  return { number, ...steps(text(low), text(high)) };
}

const numberOf = (place) => (missing(place) || place >= N_COLOURS ? 0 : place + 1);

// One colour for each of the first entries; the others are quiet.
function series(entries) {
  const few = entries.slice(0, N_COLOURS);
  const others = entries.length - few.length;
  const legend = few.map((entry, i) => ({ ...entry, colour: i }));
  if (others) legend.push({ text: counted(others, "other"), colour: "quiet" });
  return { names: few.map((_, i) => `--c${i}`), legend };
}

// From light to dark, with words at either end.
function steps(first, last) {
  const numbers = [...Array(N_STEPS).keys()];
  const texts = { 0: first, [N_STEPS - 1]: last };
  return { names: numbers.map((i) => `--s${i}`), legend: numbers.map((i) => ({ text: texts[i] ?? "", colour: `s${i}` })) };
}

// Documents in order of their colours, the quiet ones behind; within a colour as they come.
function sorted(numbers, count) {
  const starts = new Uint32Array(count + 1);
  for (const number of numbers) starts[number + 1]++;
  for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
  const order = new Uint32Array(numbers.length);
  numbers.forEach((number, row) => (order[starts[number]++] = row));
  return order;
}
