// The map under the hand: moving, zooming, pointing, reading.

function listenToMap() {
  const canvas = byId("map-canvas");
  const held = new Map(); // pointers that are down
  let moved = 0;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, place(event));
    if (held.size === 1) moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = held.get(event.pointerId);
    if (!before) {
      pointAt(...now);
      return;
    }
    const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
      zoomBy(apart(now) / Math.max(apart(before), 1), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    moveBy((now[0] - before[0]) / held.size, (now[1] - before[1]) / held.size);
    held.set(event.pointerId, now);
  });
  canvas.addEventListener("pointerup", (event) => {
    held.delete(event.pointerId);
    if (moved > 5) return;
    const row = dotAt(...place(event), event.pointerType === "mouse" ? 10 : 22);
    update({ document: row });
    hideTip();
  });
  canvas.addEventListener("pointercancel", (event) => held.delete(event.pointerId));
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the wheel alone belongs to the page
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY / 300), ...place(event));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", keyOnMap);
  byId("map-in").addEventListener("click", () => zoomBy(1.6));
  byId("map-out").addEventListener("click", () => zoomBy(1 / 1.6));
  byId("map-reset").addEventListener("click", () => {
    Object.assign(map, { zoom: 1, x: 0, y: 0 });
    paintSoon();
  });
}

function keyOnMap(event) {
  const step = 60;
  const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
  if (moves[event.key]) moveBy(...moves[event.key]);
  else if (event.key === "+" || event.key === "=") zoomBy(1.4);
  else if (event.key === "-") zoomBy(1 / 1.4);
  else return;
  event.preventDefault();
}

function zoomBy(factor, px = map.width / 2, py = map.height / 2) {
  const [x, y] = [fromX(px), fromY(py)];
  map.zoom = Math.max(0.8, Math.min(60, map.zoom * factor));
  map.x += x - fromX(px); // what was under the pointer stays there
  map.y += y - fromY(py);
  paintSoon();
}

function moveBy(dx, dy) {
  const [x, y] = [fromX(0) - fromX(dx), fromY(0) - fromY(dy)];
  map.x = Math.max(-1.2, Math.min(1.2, map.x + x));
  map.y = Math.max(-1.2, Math.min(1.2, map.y + y));
  paintSoon();
}

function pointAt(px, py) {
  const row = dotAt(px, py);
  if (row === null) {
    hideTip();
    return;
  }
  const tip = byId("map-tip");
  const { text, topics, shares } = data.documents;
  const about = metadataText(row).map(([name, value]) => `${name} ${value}`).join(" · ");
  tip.replaceChildren(
    h("p", { class: "about" }, [documentName(row), about].filter(Boolean).join(" · ")),
    text ? h("p", { class: "text", dir: "auto" }, short(text[row], 220)) : "",
    h("p", { class: "about" }, topics[row].slice(0, 2).map((topic, i) => `${percent(shares[row][i] / 1000, 0)} ${data.topics[topic].label}`).join(" · ")),
  );
  tip.hidden = false;
  const left = Math.max(8, Math.min(map.width - tip.offsetWidth - 8, px - tip.offsetWidth / 2));
  const above = py - tip.offsetHeight - 14;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 4 ? above : py + 18}px`;
  byId("map-canvas").style.cursor = "pointer";
}

function hideTip() {
  byId("map-tip").hidden = true;
  byId("map-canvas").style.cursor = "";
}

// The chosen document in full.
function showDocument() {
  const card = byId("map-document");
  const row = state.document;
  card.hidden = row === null;
  if (row === null) return;
  const { x, y, text } = data.documents;
  const [px, py] = [toX(x[row]), toY(y[row])];
  if (map.width && (px < 0 || py < 0 || px > map.width || py > map.height)) Object.assign(map, { x: x[row], y: y[row] });
  const longer = data.topics.flatMap((topic) => topic.typical).find((item) => item.position === data.documents.position[row])?.text;
  card.replaceChildren(
    h("h3", {}, documentName(row)),
    h("dl", { class: "facts" }, metadataText(row).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    text ? h("p", { class: "text", dir: "auto" }, longer ?? text[row]) : "",
    h("p", { class: "pills" }, topicButtons(row, 5)),
    h("button", { type: "button", onclick: () => closeDocument() }, "Close"),
  );
}

function closeDocument() {
  update({ document: null });
  byId("map-canvas").focus({ preventScroll: true });
}

// The same documents as a table: those of the chosen topic first.
function tableOfDocuments() {
  if (!byId("map-details").open) return;
  const { position, topics, shares, text } = data.documents;
  const rows = [...position.keys()];
  if (state.topic !== null) rows.sort((a, b) => shareIn(b, state.topic) - shareIn(a, state.topic));
  const columns = metadataColumns().slice(0, 4);
  const header = [
    { text: "document" },
    ...columns.map((column) => ({ text: column.name })),
    { text: "largest topic" },
    { text: "share", number: true },
    ...(text ? [{ text: "text" }] : []),
  ];
  const cells = rows.slice(0, map.shown).map((row) => {
    const topic = state.topic ?? topics[row][0];
    const share = state.topic === null ? shares[row][0] / 1000 : shareIn(row, topic);
    return [documentName(row), ...columns.map((column) => valueText(column, row)), topicName(topics[row][0]), percent(share, 0), ...(text ? [short(text[row], 160)] : [])];
  });
  if (state.topic !== null) header[columns.length + 2].text = "share of the chosen topic";
  fillTable(byId("map-table"), header, cells);
  byId("map-more").hidden = map.shown >= rows.length;
}
