// Words and documents by what the reader types.

import { BELONGS, data, metadataText, shareIn } from "./data.js";
import { documentItem, topicButton } from "./documents.js";
import { byId, h } from "./elements.js";
import { ringOnMap } from "./map_paint.js";
import { counted, decimal } from "./numbers.js";
import { onChange, state, update } from "./selection.js";

const PAGE = 20; // documents at once
const N_WORDS = 12;
const PATIENCE = 150; // milliseconds without a key

const results = { documents: [], shown: PAGE };
let contents = null; // what can be searched of each document, in small letters

export function startSearch() {
  const input = byId("search-input");
  let timer = 0;
  byId("search-form").addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => update({ query: input.value.trim() }), PATIENCE);
  });
  byId("search-topic").addEventListener("change", showResults);
  byId("search-more").addEventListener("click", () => {
    results.shown += PAGE;
    listDocuments();
  });
  onChange((changed) => {
    if (changed.includes("query") || (changed.includes("topic") && byId("search-topic").checked)) showResults();
    if (changed.includes("query") && input.value.trim() !== state.query) input.value = state.query;
  });
  input.value = state.query;
  showResults();
}

const queryParts = () => state.query.toLowerCase().split(/\s+/).filter(Boolean);

function showResults() {
  const parts = queryParts();
  results.shown = PAGE;
  results.documents = parts.length ? matchingDocuments(parts) : [];
  ringOnMap(results.documents);
  const words = parts.length ? matchingWords(parts) : [];
  byId("search-words").replaceChildren(...words.map(wordItem));
  listDocuments();
  byId("search-results").hidden = !parts.length;
  byId("search-count").textContent = parts.length ? `${counted(words.length, "word")} and ${counted(results.documents.length, "document")}. ${whereSearched()}` : "";
}

function whereSearched() {
  const { text, id, metadata } = data.documents;
  if (!text && !id && !metadata.length) return "This page has no texts to search.";
  const where = [id ? "ids" : null, text ? "beginnings of texts" : null, metadata.length ? "metadata" : null].filter(Boolean);
  return `Searched: ${where.join(", ")}. The map has a ring around each document found.`;
}

function matchingDocuments(parts) {
  const { text, id, position } = data.documents;
  const content = (row) => [id?.[row] ?? "", text?.[row] ?? "", ...metadataText(row).map(([, value]) => value)];
  contents ??= position.map((_, row) => content(row).join(" ").toLowerCase());
  const inside = byId("search-topic").checked && state.topic !== null ? (row) => shareIn(row, state.topic) >= BELONGS : () => true;
  return [...contents.keys()].filter((row) => parts.every((part) => contents[row].includes(part)) && inside(row));
}

// Exact words first, then those that begin like it, then the rest; frequent before rare.
function matchingWords(parts) {
  const rankFor = (word, part) => (word === part ? 0 : word.startsWith(part) ? 1 : word.includes(part) ? 2 : 3);
  return data.words.word
    .map((word, i) => ({ i, rank: Math.min(...parts.map((part) => rankFor(word.toLowerCase(), part))) }))
    .filter(({ rank }) => rank < 3)
    .sort((a, b) => a.rank - b.rank || a.i - b.i)
    .slice(0, N_WORDS)
    .map(({ i }) => i);
}

function wordItem(i) {
  const { word, probability, topics, parts } = data.words;
  return h(
    "li",
    {},
    h("p", {}, h("strong", { dir: "auto" }, word[i]), h("span", { class: "fine" }, ` ${decimal(1e4 * probability[i], 1)} per 10,000 words`)),
    h("p", { class: "pills" }, topics[i].map((topic, place) => topicButton(topic, parts[i][place]))),
  );
}

function listDocuments() {
  const parts = queryParts();
  const { text } = data.documents;
  byId("search-documents").replaceChildren(
    ...results.documents.slice(0, results.shown).map((row) => documentItem(row, text?.[row], (plain) => marked(plain, parts))),
  );
  byId("search-more").hidden = results.shown >= results.documents.length;
}

// A text with what was searched for in <mark>.
function marked(text, parts) {
  const lower = text.toLowerCase();
  const pieces = [];
  let at = 0;
  while (at < text.length) {
    let next = text.length;
    let length = 0;
    for (const part of parts) {
      const place = lower.indexOf(part, at);
      if (place >= 0 && place < next) [next, length] = [place, part.length];
    }
    if (next > at) pieces.push(text.slice(at, next));
    if (length) pieces.push(h("mark", {}, text.slice(next, next + length)));
    at = next + length;
  }
  return h("span", {}, ...pieces);
}
