// Elements, numbers, colours, and the one selection that all parts of the page share.

const byId = (id) => document.getElementById(id);

// Text only ever enters the page as text nodes and attributes: nothing in a document can become markup.
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Numbers as people read them.
const missing = (value) => value === null || value === undefined || Number.isNaN(value);
function percent(value, digits = 1) {
  return missing(value) ? "–" : `${(100 * value).toFixed(digits)} %`;
}
const minus = (text) => text.replace("-", "−");
const decimal = (value, digits = 2) => (missing(value) ? "–" : minus(value.toFixed(digits)));
const whole = (value) => value.toLocaleString("en-GB");
const counted = (count, name) => `${whole(count)} ${name}${count === 1 ? "" : "s"}`;
const DAY = 864e5;
function dateText(days) {
  return missing(days) ? "–" : new Date(days * DAY).toISOString().replace(/^[+]?0*(\d{4,})/, "$1").slice(0, 10);
}
function short(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`;
}

// Text as wide as it will be drawn: letters differ too much in width to be counted.
const ruler = document.createElement("canvas").getContext("2d");
const fontOf = (size, weight = 400) => `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
function textWidth(text, font) {
  ruler.font = font;
  return ruler.measureText(text).width;
}
function shortTo(text, width, font) {
  if (textWidth(text, font) <= width) return text;
  const letters = Array.from(text); // whole letters, where one takes two places of a string
  const cut = (count) => `${letters.slice(0, count).join("").replace(/[\s,;]+$/, "")}…`;
  let [fits, wide] = [0, letters.length];
  while (wide - fits > 1) {
    const middle = (fits + wide) >> 1;
    if (textWidth(cut(middle), font) <= width) fits = middle;
    else wide = middle;
  }
  return cut(fits);
}

// Colours come from the style sheet, so that dark mode and print have their own.
const N_COLOURS = 8;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seriesColour = (place) => (place < N_COLOURS ? `var(--c${place})` : "var(--quiet)");

// What the reader has chosen; the address holds it, so that a link shows the same view.
const state = { topic: null, document: null, query: "", colour: "" };
const listeners = [];
const onChange = (listener) => listeners.push(listener);

function update(changes, remember = true) {
  const changed = Object.keys(changes).filter((key) => state[key] !== changes[key]);
  if (!changed.length) return;
  Object.assign(state, changes);
  if (remember) writeAddress();
  for (const listener of listeners) listener(changed);
}

function toggleTopic(topic) {
  update({ topic: state.topic === topic ? null : topic });
}

function writeAddress() {
  const parts = new URLSearchParams();
  if (state.topic !== null) parts.set("topic", state.topic);
  if (state.document !== null) parts.set("document", data.documents.position[state.document]);
  if (state.query) parts.set("search", state.query);
  if (state.colour) parts.set("colour", state.colour);
  try {
    history.pushState(null, "", `#${parts}`);
  } catch {
    // A page inside another page may have no address of its own; the selection works without.
  }
}

function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const topic = parts.get("topic");
  const row = data.documents.position.indexOf(Number(parts.get("document") ?? -1));
  const known = topic !== null && /^\d+$/.test(topic) && Number(topic) < data.topics.length;
  const names = data.documents.metadata.map((column) => column.name);
  return {
    topic: known ? Number(topic) : null,
    document: row >= 0 ? row : null,
    query: parts.get("search") ?? "",
    colour: names.includes(parts.get("colour")) ? parts.get("colour") : "",
  };
}

// Everything that depends on width or colours is drawn again when these change.
const redraws = [];
function responsive(box, draw) {
  let width = 0;
  const again = () => {
    if (box.clientWidth > 0) draw(box.clientWidth);
  };
  new ResizeObserver(() => {
    if (box.clientWidth !== width) {
      width = box.clientWidth;
      again();
    }
  }).observe(box);
  redraws.push(again);
  return again;
}

let data = null;
let bySize = []; // numbers of the topics, largest first
let placeOfTopic = []; // place of each topic in that order: its colour
const topicName = (topic) => `${topic}: ${data.topics[topic].label}`;

async function unpack() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot unpack the data; a newer one can (Chrome 80, Firefox 113, Safari 16.4)");
  }
  const bytes = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// Share of a topic in a document, from the short lists that the page has.
function shareIn(row, topic) {
  const place = data.documents.topics[row].indexOf(topic);
  return place < 0 ? 0 : data.documents.shares[row][place] / 1000;
}

function documentName(row) {
  const { id, position } = data.documents;
  return id ? id[row] : `Document ${position[row]}`;
}

// Many tables have the ids as a column too: a document's name says it already.
let newColumns = null; // columns of metadata that say more
function metadataColumns() {
  const { id, metadata } = data.documents;
  newColumns ??= metadata.filter((column) => !id || !id.length || id.some((name, row) => name !== valueText(column, row)));
  return newColumns;
}

function metadataText(row) {
  return metadataColumns()
    .map((column) => [column.name, valueText(column, row)])
    .filter(([, value]) => value !== "–");
}

function valueText(column, row) {
  const value = column.values[row];
  if (missing(value)) return "–";
  if (column.kind === "category") return column.levels[value];
  return column.kind === "date" ? dateText(value) : String(value);
}

// The largest topics of a document as buttons.
function topicButtons(row, count = 3) {
  const { topics, shares } = data.documents;
  return topics[row].slice(0, count).map((topic, place) => topicButton(topic, shares[row][place] / 1000));
}

function topicButton(topic, share) {
  return h(
    "button",
    { type: "button", class: "pill", "data-topic": topic, "aria-pressed": String(state.topic === topic), onclick: () => toggleTopic(topic) },
    h("span", { class: "dot", "data-colour": placeOfTopic[topic] < N_COLOURS ? placeOfTopic[topic] : "quiet" }),
    h("span", { class: "pill-name" }, topicName(topic)),
    share === undefined ? null : h("span", { class: "pill-share" }, percent(share, 0)),
  );
}

// A document in a list: what is known of it, how it begins, its topics. `show` makes what is shown of a text.
function documentItem(row, text, show = (plain) => plain) {
  const about = metadataText(row).flatMap(([name, value]) => [` · ${name} `, show(value)]);
  return h(
    "li",
    {},
    h("p", { class: "about" }, h("a", { href: "#map", onclick: (event) => openOnMap(event, row) }, show(documentName(row))), about),
    text ? h("p", { class: "text", dir: "auto" }, show(text)) : null,
    h("p", { class: "pills" }, topicButtons(row)),
  );
}

function openOnMap(event, row) {
  event.preventDefault();
  update({ document: row });
  goTo("map");
}

function goTo(id) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  byId(id).scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
  byId(`${id}-title`).focus({ preventScroll: true });
}

function fillTable(table, header, rows) {
  const cell = (tag, value, column, scope) =>
    h(tag, { class: typeof value === "number" || header[column].number ? "n" : null, scope }, value instanceof Node ? value : String(value));
  table.replaceChildren(
    h("thead", {}, h("tr", {}, header.map((name, i) => cell("th", name.text, i, "col")))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, i) => (i ? cell("td", value, i) : cell("th", value, i, "row")))))),
  );
}
