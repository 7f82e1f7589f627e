// The words and the documents of one topic.

import { bySize, data, topicName } from "./data.js";
import { documentItem } from "./documents.js";
import { byId, h } from "./elements.js";
import { goTo } from "./navigation.js";
import { decimal, percent } from "./numbers.js";
import { onChange, state, update } from "./selection.js";

const N_BARS = 20;

export function startTopicDetail() {
  byId("relevance").addEventListener("input", showWords);
  onChange((changed) => {
    if (!changed.includes("topic")) return;
    showTopic();
    announce();
  });
  showTopic();
}

// Without a choice the largest topic serves as an example.
const shownTopic = () => data.topics[state.topic ?? bySize[0]];

function showTopic() {
  const topic = shownTopic();
  byId("topic-select").value = state.topic === null ? "" : String(state.topic);
  byId("topic-clear").hidden = state.topic === null;
  document.documentElement.classList.toggle("has-topic", state.topic !== null);
  markButtons();
  byId("topic-hint").textContent = state.topic === null ? "The largest topic, as an example" : "Chosen topic";
  byId("topic-name").textContent = topicName(topic.topic);
  byId("topic-again").textContent = topicName(topic.topic);
  const facts = [
    ["average share", percent(topic.share)],
    ["coherence", decimal(topic.coherence)],
    ["exclusivity", decimal(topic.exclusivity)],
  ];
  byId("topic-facts").replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  byId("topic-documents").replaceChildren(...topic.typical.map(typicalItem));
  showWords();
}

// Every button of the chosen topic, in all parts of the page.
export function markButtons() {
  for (const button of document.querySelectorAll("[data-topic]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.topic) === state.topic));
  }
}

function announce() {
  const topic = shownTopic();
  byId("announce").textContent =
    state.topic === null ? "All topics are shown." : `Topic ${topicName(topic.topic)} is chosen and highlighted in all charts. Its average share is ${percent(topic.share)}.`;
}

// A typical document may be missing from the sample that the map shows.
function typicalItem(item) {
  const row = data.documents.position.indexOf(item.position);
  if (row >= 0) return documentItem(row, item.text);
  const about = `${item.id ?? `Document ${item.position}`} · ${percent(item.share, 0)} share of this topic`;
  return h("li", {}, h("p", { class: "about" }, about), h("p", { class: "text", dir: "auto" }, item.text ?? ""));
}

// Relevance is lambda log p(w | k) + (1 - lambda) log(p(w | k) / p(w)).
function showWords() {
  const topic = shownTopic();
  const lambda = Number(byId("relevance").value);
  byId("relevance-value").textContent = lambda.toFixed(2).replace(/0$/, "");
  const relevance = (i) => Math.log(topic.probabilities[i]) - (1 - lambda) * Math.log(Math.max(topic.overall[i], 1e-300));
  const chosen = [...topic.words.keys()].sort((a, b) => relevance(b) - relevance(a)).slice(0, N_BARS);
  const longest = Math.max(...chosen.map((i) => Math.max(topic.probabilities[i], topic.overall[i])), 1e-12);
  byId("topic-words").tBodies[0].replaceChildren(...chosen.map((i) => wordRow(topic, i, longest)));
}

function wordRow(topic, i, longest) {
  const bar = h("span", { class: "bar-fill", "data-colour": "accent" });
  const mark = h("span", { class: "bar-mark" });
  bar.style.width = `${(100 * topic.probabilities[i]) / longest}%`;
  mark.style.left = `${(100 * topic.overall[i]) / longest}%`;
  const often = `${percent(topic.probabilities[i], 2)} of the words in this topic, ${percent(topic.overall[i], 2)} of all words`;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("button", { type: "button", class: "word", onclick: () => searchFor(topic.words[i]) }, topic.words[i])),
    h("td", { title: often }, h("span", { class: "bar-track" }, bar, mark), h("span", { class: "hidden" }, often)),
  );
}

function searchFor(word) {
  update({ query: word });
  goTo("search");
}
