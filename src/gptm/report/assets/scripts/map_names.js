// Names of topics on the map, where most of their documents are.

import { colour } from "./colours.js";
import { bySize, data } from "./data.js";
import { isInView, toX, toY, viewSize } from "./map_view.js";
import { state } from "./selection.js";
import { fontOf, shortTo, textWidth } from "./text_width.js";

let centres = []; // where each topic has its name

export function placeNames() {
  const { x, y, topics } = data.documents;
  const rows = data.topics.map(() => []);
  topics.forEach((numbers, row) => rows[numbers[0]].push(row));
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  centres = rows.map((mine) => (mine.length ? [median(mine.map((row) => x[row])), median(mine.map((row) => y[row]))] : null));
}

// Where two would overlap, the smaller topic's name makes way, or is left out where it would have to go too far.
export function paintNames(pen) {
  const taken = [];
  const first = state.topic === null ? [] : [state.topic];
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 4;
  for (const topic of [...first, ...bySize.filter((other) => other !== state.topic)]) {
    if (!centres[topic]) continue;
    const [px, py] = [toX(centres[topic][0]), toY(centres[topic][1])];
    if (isInView(px, py)) paintName(pen, topic, px, py, taken);
  }
  pen.globalAlpha = 1;
}

// Adds the box of the name to those that are taken.
function paintName(pen, topic, px, py, taken) {
  const [frame] = viewSize();
  const narrow = frame < 500;
  const size = narrow ? 11 : 13;
  const chosen = topic === state.topic;
  pen.font = fontOf(size, chosen ? 700 : 600);
  const { label } = data.topics[topic];
  const lines = narrow ? [shortTo(label, 0.45 * frame, pen.font)] : nameLines(label, 0.24 * frame, pen.font);
  const box = freeBox(px, py, Math.max(...lines.map((line) => pen.measureText(line).width)) + 8, (1.25 * lines.length + 0.25) * size, taken);
  if (!box) return;
  taken.push(box);
  const at = (place) => [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2 + (place - (lines.length - 1) / 2) * 1.25 * size];
  pen.strokeStyle = colour("--panel");
  pen.globalAlpha = state.topic === null || chosen ? 1 : 0.45;
  lines.forEach((line, place) => pen.strokeText(line, ...at(place)));
  pen.fillStyle = colour(chosen ? "--accent" : "--ink");
  lines.forEach((line, place) => pen.fillText(line, ...at(place)));
}

// One line where there is room, else two: words of a label stay whole where they can.
function nameLines(label, room, font) {
  if (textWidth(label, font) <= room) return [label];
  const words = label.split(", ");
  if (words.length === 1) return [shortTo(label, room, font)];
  const upper = (count) => `${words.slice(0, count).join(", ")},`;
  let count = words.length - 1;
  while (count > 1 && textWidth(upper(count), font) > room) count--;
  return [upper(count), words.slice(count).join(", ")].map((line) => shortTo(line, room, font));
}

// Left, top, right and bottom of a name at a point, inside the frame and clear of the names before it.
function freeBox(px, py, width, height, taken) {
  const [right, bottom] = viewSize();
  const inside = (value, half, end) => Math.max(half, Math.min(end - half, value));
  const left = inside(px, width / 2, right) - width / 2;
  for (const step of [0, 0.55, -0.55, 1.1, -1.1]) {
    const top = inside(py + step * height, height / 2, bottom) - height / 2;
    const box = [left, top, left + width, top + height];
    if (!taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return box;
  }
  return null;
}
