// What is under the pointer on the map.

import { data, documentName, metadataText } from "./data.js";
import { byId, h } from "./elements.js";
import { dotAt } from "./map_index.js";
import { viewSize } from "./map_view.js";
import { percent } from "./numbers.js";
import { short } from "./text_width.js";

export function pointAt(px, py) {
  const row = dotAt(px, py);
  if (row === null) {
    hideTip();
    return;
  }
  const tip = byId("map-tip");
  tip.replaceChildren(...tipOf(row));
  tip.hidden = false;
  const [width] = viewSize();
  const left = Math.max(8, Math.min(width - tip.offsetWidth - 8, px - tip.offsetWidth / 2));
  const above = py - tip.offsetHeight - 14;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 4 ? above : py + 18}px`;
  byId("map-canvas").style.cursor = "pointer";
}

function tipOf(row) {
  const { text, topics, shares } = data.documents;
  const about = [documentName(row), ...metadataText(row).map(([name, value]) => `${name} ${value}`)];
  const largest = topics[row].slice(0, 2).map((topic, i) => `${percent(shares[row][i] / 1000, 0)} ${data.topics[topic].label}`);
  return [
    h("p", { class: "about" }, about.filter(Boolean).join(" · ")),
    text ? h("p", { class: "text", dir: "auto" }, short(text[row], 220)) : "",
    h("p", { class: "about" }, largest.join(" · ")),
  ];
}

export function hideTip() {
  byId("map-tip").hidden = true;
  byId("map-canvas").style.cursor = "";
}
