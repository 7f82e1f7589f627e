// Elements of the page: finding them, making them, filling tables.

export const byId = (id) => document.getElementById(id);

// Text only ever enters the page as text nodes and attributes: nothing in a document can become markup.
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// A drawing of this size in pixels, with a name for those who cannot see it.
export const drawing = (width, height, label, { role = "img", style = "drawn" } = {}) =>
  svg("svg", { class: style, width, height, viewBox: `0 0 ${width} ${height}`, role, "aria-label": label });

// `header` has a text for each column, and says which of them are numbers.
export function fillTable(table, header, rows) {
  const cell = (tag, value, column, scope) =>
    h(tag, { class: typeof value === "number" || header[column].number ? "n" : null, scope }, value instanceof Node ? value : String(value));
  table.replaceChildren(
    h("thead", {}, h("tr", {}, header.map((name, i) => cell("th", name.text, i, "col")))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, i) => (i ? cell("td", value, i) : cell("th", value, i, "row")))))),
  );
}
