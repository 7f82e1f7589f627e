// The map under the hand: moving, zooming, pointing, choosing, with a mouse, fingers or keys.

import { byId } from "./elements.js";
import { dotAt } from "./map_index.js";
import { paintSoon } from "./map_paint.js";
import { hideTip, pointAt } from "./map_tip.js";
import { moveView, resetView, zoomView } from "./map_view.js";
import { update } from "./selection.js";

const KEY_STEP = 60; // pixels
const MOVES = { ArrowLeft: [KEY_STEP, 0], ArrowRight: [-KEY_STEP, 0], ArrowUp: [0, KEY_STEP], ArrowDown: [0, -KEY_STEP] };

export function listenToMap() {
  const canvas = byId("map-canvas");
  listenToPointers(canvas);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("wheel", turnWheel, { passive: false });
  canvas.addEventListener("keydown", pressKey);
  byId("map-in").addEventListener("click", () => zoomBy(1.6));
  byId("map-out").addEventListener("click", () => zoomBy(1 / 1.6));
  byId("map-reset").addEventListener("click", () => {
    resetView();
    paintSoon();
  });
}

function zoomBy(...change) {
  zoomView(...change);
  paintSoon();
}

function moveBy(dx, dy) {
  moveView(dx, dy);
  paintSoon();
}

function placeOn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function listenToPointers(canvas) {
  const held = new Map(); // pointers that are down
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, placeOn(canvas, event));
    if (held.size === 1) moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = placeOn(canvas, event);
    if (held.has(event.pointerId)) moved += drag(held, event.pointerId, now);
    else pointAt(...now);
  });
  canvas.addEventListener("pointerup", (event) => {
    held.delete(event.pointerId);
    if (moved > 5) return;
    update({ document: dotAt(...placeOn(canvas, event), event.pointerType === "mouse" ? 10 : 22) });
    hideTip();
  });
  canvas.addEventListener("pointercancel", (event) => held.delete(event.pointerId));
}

// Moves the map with one pointer and zooms with two; returns how far the pointer went.
function drag(held, pointer, now) {
  const before = held.get(pointer);
  const other = [...held].find(([id]) => id !== pointer)?.[1];
  if (other) {
    const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
    zoomBy(apart(now) / Math.max(apart(before), 1), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }
  moveBy((now[0] - before[0]) / held.size, (now[1] - before[1]) / held.size);
  held.set(pointer, now);
  return Math.hypot(now[0] - before[0], now[1] - before[1]);
}

function turnWheel(event) {
  if (!event.ctrlKey && !event.metaKey) return; // the wheel alone belongs to the page
  event.preventDefault();
  zoomBy(Math.exp(-event.deltaY / 300), ...placeOn(event.currentTarget, event));
}

function pressKey(event) {
  if (MOVES[event.key]) moveBy(...MOVES[event.key]);
  else if (event.key === "+" || event.key === "=") zoomBy(1.4);
  else if (event.key === "-") zoomBy(1 / 1.4);
  else return;
  event.preventDefault();
}
