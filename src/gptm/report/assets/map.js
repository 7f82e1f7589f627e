// The map of documents: a canvas of our own, quick enough for a hundred thousand dots.

const N_STEPS = 7; // of a scale of colours
const CELLS = 128; // of the grid that finds the dot under the pointer, per side
const TABLE_ROWS = 25;
const BELONGS = 0.2; // share from which a document counts as one of a topic

const map = {
  zoom: 1, x: 0, y: 0, // the point of the map in the middle
  width: 0, height: 0, ratio: 1,
  order: null, // documents, those drawn first at the front
  bucket: null, colours: [], // colour of each document
  cells: null, starts: null, // documents by cell of the grid
  centres: [], // where each topic has its name
  hits: [], // documents that a search has found
  shown: TABLE_ROWS, waiting: false,
};

function startMap() {
  const { metadata, x } = data.documents;
  const choice = byId("map-colour");
  choice.append(h("option", { value: "" }, "largest topic"));
  const told = metadataColumns();
  for (const column of metadata) {
    // One colour for each document would tell nothing.
    if (column.kind === "text" || (column.kind === "category" && !told.includes(column))) continue;
    choice.append(h("option", { value: column.name }, column.name));
  }
  choice.addEventListener("change", () => update({ colour: choice.value }));
  indexDots();
  map.centres = topicCentres();
  recolour();
  byId("map-canvas").setAttribute("aria-label", `Map of ${counted(x.length, "document")}`);
  responsive(byId("map-box"), sizeMap);
  listenToMap();
  byId("map-more").addEventListener("click", () => {
    map.shown += TABLE_ROWS;
    tableOfDocuments();
  });
  byId("map-details").addEventListener("toggle", tableOfDocuments);
  onChange((changed) => {
    if (changed.includes("topic")) map.shown = TABLE_ROWS;
    if (changed.includes("topic") || changed.includes("colour")) recolour();
    if (changed.includes("document")) showDocument();
    if (changed.includes("topic") || changed.includes("document")) tableOfDocuments();
    paintSoon();
  });
  redraws.push(recolour);
  showDocument();
}

// Colours.

function recolour() {
  const column = data.documents.metadata.find((one) => one.name === state.colour);
  byId("map-colour").value = state.colour; // empty for topics: a column may have any name
  const n = data.documents.x.length;
  map.bucket = new Uint8Array(n); // 0 is quiet
  const legend = [];
  map.colours = [colour("--quiet")];
  const series = (names) => {
    for (let i = 0; i < Math.min(names.length, N_COLOURS); i++) {
      map.colours.push(colour(`--c${i}`));
      legend.push({ text: names[i].text, colour: i, topic: names[i].topic });
    }
    if (names.length > N_COLOURS) legend.push({ text: counted(names.length - N_COLOURS, "other"), colour: "quiet" });
  };
  const steps = (texts) => {
    for (let i = 0; i < N_STEPS; i++) map.colours.push(colour(`--s${i}`));
    legend.push({ text: texts[0], colour: "s0" });
    for (let i = 1; i < N_STEPS - 1; i++) legend.push({ text: "", colour: `s${i}` });
    legend.push({ text: texts[1], colour: `s${N_STEPS - 1}` });
  };
  if (!column && state.topic !== null) {
    steps(["a little of the chosen topic", "all of it"]);
    for (let row = 0; row < n; row++) {
      const share = shareIn(row, state.topic);
      map.bucket[row] = share < 0.05 ? 0 : 1 + Math.min(N_STEPS - 1, Math.floor(share * N_STEPS));
    }
  } else if (!column) {
    series(bySize.map((topic) => ({ text: topicName(topic), topic })));
    for (let row = 0; row < n; row++) {
      const place = placeOfTopic[data.documents.topics[row][0]];
      map.bucket[row] = place < N_COLOURS ? place + 1 : 0;
    }
  } else if (column.kind === "category") {
    series(column.levels.map((text) => ({ text })));
    for (let row = 0; row < n; row++) {
      const level = column.values[row];
      map.bucket[row] = missing(level) || level >= N_COLOURS ? 0 : level + 1;
    }
  } else {
    const [low, high] = extent([column.values]);
    const text = column.kind === "date" ? dateText : numberText;
    steps([text(low), text(high)]);
    const place = scale(low, high, 0, N_STEPS - 1e-9);
    for (let row = 0; row < n; row++) {
      map.bucket[row] = missing(column.values[row]) ? 0 : 1 + Math.floor(place(column.values[row]));
    }
  }
  if (column && state.topic !== null) {
    for (let row = 0; row < n; row++) if (shareIn(row, state.topic) < BELONGS) map.bucket[row] = 0;
  }
  sortByColour();
  drawLegend(byId("map-legend"), legend);
  paintSoon();
}

function drawLegend(list, entries) {
  list.replaceChildren(
    ...entries.map((entry) => {
      const swatch = h("span", { class: "dot", "data-colour": entry.colour });
      if (entry.topic === undefined) return h("li", { class: entry.text ? null : "step" }, swatch, entry.text);
      return h("li", {}, h("button", { type: "button", class: "plain", "data-topic": entry.topic, "aria-pressed": "false", onclick: () => toggleTopic(entry.topic) }, swatch, entry.text));
    }),
  );
}

// Documents in order of their colours, the quiet ones behind; within a colour as they come.
function sortByColour() {
  const n = map.bucket.length;
  const counts = new Uint32Array(map.colours.length + 1);
  for (let row = 0; row < n; row++) counts[map.bucket[row] + 1]++;
  for (let i = 1; i < counts.length; i++) counts[i] += counts[i - 1];
  map.order = new Uint32Array(n);
  for (let row = 0; row < n; row++) map.order[counts[map.bucket[row]]++] = row;
}

// Where things are.

function indexDots() {
  const { x, y } = data.documents;
  const cell = (row) => cellAt(y[row]) * CELLS + cellAt(x[row]);
  map.starts = new Uint32Array(CELLS * CELLS + 1);
  for (let row = 0; row < x.length; row++) map.starts[cell(row) + 1]++;
  for (let i = 1; i < map.starts.length; i++) map.starts[i] += map.starts[i - 1];
  const next = map.starts.slice();
  map.cells = new Uint32Array(x.length);
  for (let row = 0; row < x.length; row++) map.cells[next[cell(row)]++] = row;
}

const cellAt = (value) => Math.max(0, Math.min(CELLS - 1, Math.floor(((value + 1) / 2) * CELLS)));

function topicCentres() {
  const rows = data.topics.map(() => []);
  data.documents.topics.forEach((topics, row) => rows[topics[0]].push(row));
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  return rows.map((mine) => (mine.length ? [median(mine.map((row) => data.documents.x[row])), median(mine.map((row) => data.documents.y[row]))] : null));
}

// Pixels from 0 to 1. The map fills a wide or a tall frame, stretched by no more than a half.
const unitX = () => Math.min(0.47 * map.width, 0.69 * map.height) * map.zoom;
const unitY = () => Math.min(0.46 * map.height, 0.69 * map.width) * map.zoom;
const toX = (x) => map.width / 2 + (x - map.x) * unitX();
const toY = (y) => map.height / 2 - (y - map.y) * unitY();
const fromX = (px) => map.x + (px - map.width / 2) / unitX();
const fromY = (py) => map.y - (py - map.height / 2) / unitY();

function dotAt(px, py, reach = 12) {
  const { x, y } = data.documents;
  const [left, right] = [cellAt(fromX(px - reach)), cellAt(fromX(px + reach))];
  const [low, high] = [cellAt(fromY(py + reach)), cellAt(fromY(py - reach))];
  let best = null;
  let least = reach * reach;
  for (let j = low; j <= high; j++) {
    for (let i = map.starts[j * CELLS + left]; i < map.starts[j * CELLS + right + 1]; i++) {
      const row = map.cells[i];
      const distance = (toX(x[row]) - px) ** 2 + (toY(y[row]) - py) ** 2;
      if (distance < least) [best, least] = [row, distance];
    }
  }
  return best;
}

// Drawing.

function sizeMap(width) {
  const canvas = byId("map-canvas");
  map.width = width;
  map.height = Math.round(Math.max(320, Math.min(640, 0.62 * width)));
  map.ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.round(map.width * map.ratio);
  canvas.height = Math.round(map.height * map.ratio);
  canvas.style.height = `${map.height}px`;
  paint();
}

function paintSoon() {
  if (map.waiting) return;
  map.waiting = true;
  requestAnimationFrame(() => {
    map.waiting = false;
    paint();
  });
}

function paint() {
  if (!map.width || !map.order) return;
  const canvas = byId("map-canvas");
  const began = performance.now();
  const pen = canvas.getContext("2d");
  pen.setTransform(map.ratio, 0, 0, map.ratio, 0, 0);
  pen.clearRect(0, 0, map.width, map.height);
  paintDots(pen);
  ring(pen, map.hits.slice(0, 3000), colour("--ink"), 1.2);
  if (state.document !== null) ring(pen, [state.document], colour("--accent"), 3);
  paintNames(pen);
  canvas.dataset.milliseconds = (performance.now() - began).toFixed(1);
}

function dotRadius() {
  const base = Math.max(0.9, Math.min(4.5, 170 / Math.sqrt(data.documents.x.length)));
  return Math.min(7, base * map.zoom ** 0.35 * (map.width < 500 ? 0.8 : 1));
}

function paintDots(pen) {
  const { x, y } = data.documents;
  const radius = dotRadius();
  const sprites = map.colours.map((fill) => sprite(fill, radius));
  const size = sprites[0].width / map.ratio;
  let now = -1;
  for (const row of map.order) {
    const px = toX(x[row]);
    const py = toY(y[row]);
    if (px < -8 || py < -8 || px > map.width + 8 || py > map.height + 8) continue;
    const bucket = map.bucket[row];
    if (radius >= 1.5) {
      pen.drawImage(sprites[bucket], px - size / 2, py - size / 2, size, size);
      continue;
    }
    if (bucket !== now) {
      now = bucket;
      pen.fillStyle = map.colours[bucket];
      pen.globalAlpha = bucket ? 0.85 : 0.6;
    }
    pen.fillRect(px - radius, py - radius, 2 * radius, 2 * radius);
  }
  pen.globalAlpha = 1;
}

function sprite(fill, radius) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.ceil((2 * radius + 2) * map.ratio);
  const pen = canvas.getContext("2d");
  const middle = canvas.width / 2;
  pen.fillStyle = fill;
  pen.globalAlpha = 0.85;
  pen.beginPath();
  pen.arc(middle, middle, radius * map.ratio, 0, 2 * Math.PI);
  pen.fill();
  return canvas;
}

function ring(pen, rows, stroke, width) {
  pen.strokeStyle = stroke;
  pen.lineWidth = width;
  for (const row of rows) {
    pen.beginPath();
    pen.arc(toX(data.documents.x[row]), toY(data.documents.y[row]), dotRadius() + width + 0.5, 0, 2 * Math.PI);
    pen.stroke();
  }
}

// Names of topics where most of their documents are. Where two would overlap, the smaller topic's name makes way, or
// is left out where it would have to go too far.
function paintNames(pen) {
  const narrow = map.width < 500;
  const size = narrow ? 11 : 13;
  const taken = [];
  const first = state.topic === null ? [] : [state.topic];
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 4;
  for (const topic of [...first, ...bySize.filter((other) => other !== state.topic)]) {
    if (!map.centres[topic]) continue;
    const [px, py] = [toX(map.centres[topic][0]), toY(map.centres[topic][1])];
    if (px < 0 || py < 0 || px > map.width || py > map.height) continue;
    const chosen = topic === state.topic;
    pen.font = fontOf(size, chosen ? 700 : 600);
    const { label } = data.topics[topic];
    const lines = narrow ? [shortTo(label, 0.45 * map.width, pen.font)] : nameLines(label, 0.24 * map.width, pen.font);
    const box = freeBox(px, py, Math.max(...lines.map((line) => pen.measureText(line).width)) + 8, (1.25 * lines.length + 0.25) * size, taken);
    if (!box) continue;
    taken.push(box);
    const at = (place) => [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2 + (place - (lines.length - 1) / 2) * 1.25 * size];
    pen.strokeStyle = colour("--panel");
    pen.globalAlpha = state.topic === null || chosen ? 1 : 0.45;
    lines.forEach((line, place) => pen.strokeText(line, ...at(place)));
    pen.fillStyle = colour(chosen ? "--accent" : "--ink");
    lines.forEach((line, place) => pen.fillText(line, ...at(place)));
  }
  pen.globalAlpha = 1;
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
  const inside = (value, half, end) => Math.max(half, Math.min(end - half, value));
  const left = inside(px, width / 2, map.width) - width / 2;
  for (const step of [0, 0.55, -0.55, 1.1, -1.1]) {
    const top = inside(py + step * height, height / 2, map.height) - height / 2;
    const box = [left, top, left + width, top + height];
    if (!taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return box;
  }
  return null;
}
