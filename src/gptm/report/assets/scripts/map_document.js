// The chosen document in full.

import { data, documentName, metadataText } from "./data.js";
import { topicButtons } from "./documents.js";
import { byId, h } from "./elements.js";
import { bringIntoView } from "./map_view.js";
import { state, update } from "./selection.js";

export function showDocument() {
  const card = byId("map-document");
  const row = state.document;
  card.hidden = row === null;
  if (row === null) return;
  bringIntoView(data.documents.x[row], data.documents.y[row]);
  const text = longestText(row);
  card.replaceChildren(
    h("h3", {}, documentName(row)),
    h("dl", { class: "facts" }, metadataText(row).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    text ? h("p", { class: "text", dir: "auto" }, text) : "",
    h("p", { class: "pills" }, topicButtons(row, 5)),
    h("button", { type: "button", onclick: closeDocument }, "Close"),
  );
}

// The page has more of the texts of typical documents.
function longestText(row) {
  const { text, position } = data.documents;
  const typical = data.topics.flatMap((topic) => topic.typical).find((item) => item.position === position[row]);
  return text && (typical?.text ?? text[row]);
}

function closeDocument() {
  update({ document: null });
  byId("map-canvas").focus({ preventScroll: true });
}
