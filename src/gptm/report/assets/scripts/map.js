// The map of documents, with its controls and what can be read beside it.

import { data, metadataColumns } from "./data.js";
import { byId, h } from "./elements.js";
import { showDocument } from "./map_document.js";
import { indexDots } from "./map_index.js";
import { placeNames } from "./map_names.js";
import { paintSoon, recolour, sizeMap } from "./map_paint.js";
import { listenToMap } from "./map_pointer.js";
import { startMapTable } from "./map_table.js";
import { counted } from "./numbers.js";
import { onRedraw, responsive } from "./redraw.js";
import { onChange, update } from "./selection.js";

export function startMap() {
  offerColours();
  indexDots();
  placeNames();
  recolour();
  byId("map-canvas").setAttribute("aria-label", `Map of ${counted(data.documents.x.length, "document")}`);
  responsive(byId("map-box"), sizeMap);
  listenToMap();
  startMapTable();
  onChange((changed) => {
    if (changed.includes("topic") || changed.includes("colour")) recolour();
    if (changed.includes("document")) showDocument();
    paintSoon();
  });
  onRedraw(recolour);
  showDocument();
}

function offerColours() {
  const choice = byId("map-colour");
  choice.append(h("option", { value: "" }, "largest topic"), ...colourColumns().map(({ name }) => h("option", { value: name }, name)));
  choice.addEventListener("change", () => update({ colour: choice.value }));
}

// Not those with another value for each document: one colour for each would show nothing.
function colourColumns() {
  const telling = metadataColumns();
  return data.documents.metadata.filter((column) => column.kind !== "text" && (column.kind !== "category" || telling.includes(column)));
}
