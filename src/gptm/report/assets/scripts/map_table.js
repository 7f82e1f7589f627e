// The documents of the map as a table: those of the chosen topic first.

import { data, documentName, metadataColumns, shareIn, topicName, valueText } from "./data.js";
import { byId, fillTable } from "./elements.js";
import { percent } from "./numbers.js";
import { onChange, state } from "./selection.js";
import { short } from "./text_width.js";

const TABLE_ROWS = 25; // at once
const TABLE_COLUMNS = 4; // of metadata

let shown = TABLE_ROWS;

export function startMapTable() {
  byId("map-more").addEventListener("click", () => {
    shown += TABLE_ROWS;
    tableOfDocuments();
  });
  byId("map-details").addEventListener("toggle", tableOfDocuments);
  onChange((changed) => {
    if (changed.includes("topic")) shown = TABLE_ROWS;
    if (changed.includes("topic") || changed.includes("document")) tableOfDocuments();
  });
}

function tableOfDocuments() {
  if (!byId("map-details").open) return;
  const rows = [...data.documents.position.keys()];
  if (state.topic !== null) rows.sort((a, b) => shareIn(b, state.topic) - shareIn(a, state.topic));
  const columns = metadataColumns().slice(0, TABLE_COLUMNS);
  const cells = rows.slice(0, shown).map((row) => cellsOf(row, columns));
  fillTable(byId("map-table"), headerOf(columns), cells);
  byId("map-more").hidden = shown >= rows.length;
}

function headerOf(columns) {
  return [
    { text: "document" },
    ...columns.map(({ name, kind }) => ({ text: name, number: kind === "number" || kind === "date" })),
    { text: "largest topic" },
    { text: state.topic === null ? "share" : "share of the chosen topic", number: true },
    ...(data.documents.text ? [{ text: "text" }] : []),
  ];
}

function cellsOf(row, columns) {
  const { topics, text } = data.documents;
  const [largest] = topics[row];
  const share = shareIn(row, state.topic ?? largest);
  const values = columns.map((column) => valueText(column, row));
  return [documentName(row), ...values, topicName(largest), percent(share, 0), ...(text ? [short(text[row], 160)] : [])];
}
