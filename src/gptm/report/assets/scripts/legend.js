// Legends of charts.

import { h } from "./elements.js";
import { toggleTopic } from "./selection.js";

// Entries have a text and a colour. One with a topic is a button that chooses it; one without a text is a step between others.
export function drawLegend(list, entries) {
  list.replaceChildren(...entries.map(legendItem));
}

function legendItem({ text, colour, topic }) {
  const swatch = h("span", { class: "dot", "data-colour": colour });
  if (topic === undefined) return h("li", { class: text ? null : "step" }, swatch, text);
  return h("li", {}, h("button", { type: "button", class: "plain", "data-topic": topic, "aria-pressed": "false", onclick: () => toggleTopic(topic) }, swatch, text));
}
