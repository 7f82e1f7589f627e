// Documents in lists, with their topics as buttons.

import { topicColour } from "./colours.js";
import { data, documentName, metadataText, topicName } from "./data.js";
import { h } from "./elements.js";
import { goTo } from "./navigation.js";
import { percent } from "./numbers.js";
import { state, toggleTopic, update } from "./selection.js";

// The largest topics of a document.
export function topicButtons(row, count = 3) {
  const { topics, shares } = data.documents;
  return topics[row].slice(0, count).map((topic, place) => topicButton(topic, shares[row][place] / 1000));
}

export function topicButton(topic, share) {
  return h(
    "button",
    { type: "button", class: "pill", "data-topic": topic, "aria-pressed": String(state.topic === topic), onclick: () => toggleTopic(topic) },
    h("span", { class: "dot", "data-colour": topicColour(topic) }),
    h("span", { class: "pill-name" }, topicName(topic)),
    share === undefined ? null : h("span", { class: "pill-share" }, percent(share, 0)),
  );
}

// A document in a list: its name, metadata, text and topics. `show` makes what is shown of a text.
export function documentItem(row, text, show = (plain) => plain) {
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
