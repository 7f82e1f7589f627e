// The list of topics, and the words and documents of one of them.

const N_BARS = 20;

function startTopics() {
  const list = byId("topic-list");
  const largest = Math.max(...data.topics.map((topic) => topic.share ?? 0), 1e-9);
  const items = data.topics.map((topic) => {
    const bar = h("span", { class: "bar-fill", "data-colour": placeOfTopic[topic.topic] < N_COLOURS ? placeOfTopic[topic.topic] : "quiet" });
    bar.style.width = `${(100 * topic.share) / largest}%`;
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "topic", "data-topic": topic.topic, "aria-pressed": "false", onclick: () => toggleTopic(topic.topic) },
        h("span", { class: "topic-number" }, String(topic.topic)),
        h("span", { class: "topic-label" }, topic.label),
        h("span", { class: "topic-share" }, percent(topic.share)),
        h("span", { class: "bar-track", "aria-hidden": "true" }, bar),
      ),
    );
  });
  const order = byId("topic-order");
  const sort = () => {
    const key = order.value;
    const value = (topic) => (key === "topic" ? -topic.topic : (topic[key] ?? -Infinity));
    const sorted = [...data.topics].sort((a, b) => value(b) - value(a));
    list.replaceChildren(...sorted.map((topic) => items[topic.topic]));
  };
  order.addEventListener("change", sort);
  sort();

  const choice = byId("topic-select");
  choice.addEventListener("change", () => update({ topic: choice.value === "" ? null : Number(choice.value) }));
  byId("topic-clear").addEventListener("click", () => {
    update({ topic: null });
    choice.focus();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=search], select");
    if (event.key === "Escape" && !typing) update({ topic: null });
  });
  byId("relevance").addEventListener("input", showWords);
  onChange((changed) => {
    if (changed.includes("topic")) showTopic(true);
  });
  showTopic(false);
}

// Without a choice the largest topic serves as an example.
const shownTopic = () => data.topics[state.topic ?? bySize[0]];

function showTopic(announce) {
  const topic = shownTopic();
  byId("topic-select").value = state.topic === null ? "" : String(state.topic);
  byId("topic-clear").hidden = state.topic === null;
  document.documentElement.classList.toggle("has-topic", state.topic !== null);
  for (const button of document.querySelectorAll("[data-topic]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.topic) === state.topic));
  }
  byId("topic-hint").textContent = state.topic === null ? "The largest topic, as an example" : "Chosen topic";
  byId("topic-name").textContent = topicName(topic.topic);
  byId("topic-again").textContent = topicName(topic.topic);
  const facts = [
    ["mean share of documents", percent(topic.share)],
    ["coherence", decimal(topic.coherence)],
    ["exclusivity", decimal(topic.exclusivity)],
  ];
  byId("topic-facts").replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  showWords();
  byId("topic-documents").replaceChildren(
    ...topic.typical.map((item) => {
      const row = data.documents.position.indexOf(item.position);
      if (row >= 0) return documentItem(row, item.text);
      return h("li", {}, h("p", { class: "about" }, `${item.id ?? `Document ${item.position}`} · ${percent(item.share, 0)} from this topic`), h("p", { class: "text", dir: "auto" }, item.text ?? ""));
    }),
  );
  if (!announce) return;
  byId("announce").textContent =
    state.topic === null ? "All topics are shown." : `Topic ${topicName(topic.topic)} is chosen: ${percent(topic.share)} of an average document. It is marked in all charts.`;
}

// Relevance is lambda log p(w | k) + (1 - lambda) log(p(w | k) / p(w)).
function showWords() {
  const topic = shownTopic();
  const lambda = Number(byId("relevance").value);
  byId("relevance-value").textContent = lambda.toFixed(2).replace(/0$/, "");
  const relevance = (i) => Math.log(topic.probabilities[i]) - (1 - lambda) * Math.log(Math.max(topic.overall[i], 1e-300));
  const chosen = topic.words
    .map((word, i) => ({ word, i, relevance: relevance(i) }))
    .sort((a, b) => b.relevance - a.relevance)
    .slice(0, N_BARS);
  const longest = Math.max(...chosen.map(({ i }) => Math.max(topic.probabilities[i], topic.overall[i])), 1e-12);
  const rows = chosen.map(({ word, i }) => {
    const bar = h("span", { class: "bar-fill", "data-colour": "accent" });
    const mark = h("span", { class: "bar-mark" });
    bar.style.width = `${(100 * topic.probabilities[i]) / longest}%`;
    mark.style.left = `${(100 * topic.overall[i]) / longest}%`;
    const often = `${percent(topic.probabilities[i], 2)} of the topic, ${percent(topic.overall[i], 2)} of all words`;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("button", { type: "button", class: "word", onclick: () => searchFor(word) }, word)),
      h("td", { title: often }, h("span", { class: "bar-track" }, bar, mark), h("span", { class: "hidden" }, often)),
    );
  });
  byId("topic-words").tBodies[0].replaceChildren(...rows);
}

function searchFor(word) {
  update({ query: word });
  goTo("search");
}
