// Words and documents by what the reader types.

const PAGE = 20;
const search = { lower: null, found: [], shown: PAGE, timer: 0 };

function startSearch() {
  const input = byId("search-input");
  byId("search-form").addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", () => {
    clearTimeout(search.timer);
    search.timer = setTimeout(() => update({ query: input.value.trim() }), 150);
  });
  byId("search-topic").addEventListener("change", showResults);
  byId("search-more").addEventListener("click", () => {
    search.shown += PAGE;
    listDocuments();
  });
  onChange((changed) => {
    if (changed.includes("query") || (changed.includes("topic") && byId("search-topic").checked)) showResults();
    if (changed.includes("query") && input.value.trim() !== state.query) input.value = state.query;
  });
  input.value = state.query;
  showResults();
}

function showResults() {
  const terms = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  search.shown = PAGE;
  search.found = terms.length ? matchingDocuments(terms) : [];
  map.hits = search.found;
  paintSoon();
  const words = terms.length ? matchingWords(terms) : [];
  byId("search-words").replaceChildren(...words.map(wordItem));
  listDocuments();
  byId("search-results").hidden = !terms.length;
  byId("search-count").textContent = terms.length ? `${counted(words.length, "word")} and ${counted(search.found.length, "document")}, ${howFound()}.` : "";
}

function howFound() {
  const { text, id, metadata } = data.documents;
  if (!text && !id && !metadata.length) return "whose texts are not on this page";
  const where = [id ? "name" : null, text ? "beginning" : null, metadata.length ? "metadata" : null].filter(Boolean);
  return `found by ${where.length > 1 ? `${where.slice(0, -1).join(", ")} and ${where.at(-1)}` : where[0]}, ringed on the map`;
}

function matchingDocuments(terms) {
  const { text, id, position } = data.documents;
  const content = (row) => [id?.[row] ?? "", text?.[row] ?? "", ...metadataText(row).map(([, value]) => value)];
  search.lower ??= position.map((_, row) => content(row).join(" ").toLowerCase());
  const inside = byId("search-topic").checked && state.topic !== null ? (row) => shareIn(row, state.topic) >= BELONGS : () => true;
  const found = [];
  search.lower.forEach((content, row) => {
    if (terms.every((term) => content.includes(term)) && inside(row)) found.push(row);
  });
  return found;
}

// Exact words first, then those that begin like it, then the rest; frequent before rare.
function matchingWords(terms) {
  const rank = (word) => Math.min(...terms.map((term) => (word === term ? 0 : word.startsWith(term) ? 1 : word.includes(term) ? 2 : 3)));
  return data.words.word
    .map((word, i) => ({ i, rank: rank(word.toLowerCase()) }))
    .filter((one) => one.rank < 3)
    .sort((a, b) => a.rank - b.rank || a.i - b.i)
    .slice(0, 12)
    .map((one) => one.i);
}

function wordItem(i) {
  const { word, probability, topics, parts } = data.words;
  return h(
    "li",
    {},
    h("p", {}, h("strong", { dir: "auto" }, word[i]), h("span", { class: "fine" }, ` ${decimal(1e4 * probability[i], 1)} in 10,000 words`)),
    h("p", { class: "pills" }, topics[i].map((topic, place) => topicButton(topic, parts[i][place]))),
  );
}

function listDocuments() {
  const terms = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const { text } = data.documents;
  byId("search-documents").replaceChildren(
    ...search.found.slice(0, search.shown).map((row) => documentItem(row, text?.[row], (plain) => marked(plain, terms))),
  );
  byId("search-more").hidden = search.shown >= search.found.length;
}

// A text with the words that were looked for in <mark>.
function marked(text, terms) {
  const lower = text.toLowerCase();
  const pieces = [];
  let at = 0;
  while (at < text.length) {
    let next = text.length;
    let length = 0;
    for (const term of terms) {
      const place = lower.indexOf(term, at);
      if (place >= 0 && place < next) [next, length] = [place, term.length];
    }
    if (next > at) pieces.push(text.slice(at, next));
    if (length) pieces.push(h("mark", {}, text.slice(next, next + length)));
    at = next + length;
  }
  const box = h("span", {});
  box.append(...pieces);
  return box;
}
