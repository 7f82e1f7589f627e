// The data of the page. The objects are empty until `loadData` has filled them, before anything is drawn.

import { byId } from "./elements.js";
import { dateText, missing } from "./numbers.js";

export const data = {};
export const bySize = []; // numbers of the topics, largest first
export const placeOfTopic = []; // place of each topic in that order: its colour

export async function loadData() {
  Object.assign(data, await unpack());
  bySize.push(...data.topics.map((topic) => topic.topic));
  bySize.sort((a, b) => data.topics[b].share - data.topics[a].share || a - b);
  bySize.forEach((topic, place) => (placeOfTopic[topic] = place));
}

async function unpack() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old. Open the page in Chrome 80, Firefox 113, Safari 16.4 or a later version");
  }
  const bytes = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

export const topicName = (topic) => `${topic}: ${data.topics[topic].label}`;

// Share from which a document counts as one of a topic.
export const BELONGS = 0.2;

// Share of a topic in a document, from the short lists that the page has.
export function shareIn(row, topic) {
  const place = data.documents.topics[row].indexOf(topic);
  return place < 0 ? 0 : data.documents.shares[row][place] / 1000;
}

export function documentName(row) {
  const { id, position } = data.documents;
  return id ? id[row] : `Document ${position[row]}`;
}

// Many tables have the ids as a column too: a document's name says it already.
let newColumns = null; // columns of metadata that say more
export function metadataColumns() {
  const { id, metadata } = data.documents;
  newColumns ??= metadata.filter((column) => !id || !id.length || id.some((name, row) => name !== valueText(column, row)));
  return newColumns;
}

export function metadataText(row) {
  return metadataColumns()
    .map((column) => [column.name, valueText(column, row)])
    .filter(([, value]) => value !== "–");
}

export function valueText(column, row) {
  const value = column.values[row];
  if (missing(value)) return "–";
  if (column.kind === "category") return column.levels[value];
  return column.kind === "date" ? dateText(value) : String(value);
}
