// The list of topics, and the ways to choose one.

import { topicColour } from "./colours.js";
import { data } from "./data.js";
import { byId, h } from "./elements.js";
import { percent } from "./numbers.js";
import { toggleTopic, update } from "./selection.js";

export function startTopics() {
  const list = byId("topic-list");
  const order = byId("topic-order");
  const items = data.topics.map(topicItem);
  const sort = () => list.replaceChildren(...topicsBy(order.value).map((topic) => items[topic.topic]));
  order.addEventListener("change", sort);
  sort();
  listenToBar();
}

function topicItem(topic) {
  const largest = Math.max(...data.topics.map((other) => other.share ?? 0), 1e-9);
  const bar = h("span", { class: "bar-fill", "data-colour": topicColour(topic.topic) });
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
}

// Largest first, but numbers upwards.
function topicsBy(key) {
  const value = (topic) => (key === "topic" ? -topic.topic : (topic[key] ?? -Infinity));
  return [...data.topics].sort((a, b) => value(b) - value(a));
}

// The bar that stays, and the Escape key.
function listenToBar() {
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
}
