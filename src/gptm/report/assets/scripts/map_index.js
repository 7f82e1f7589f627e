// Which documents are where on the map: a grid that finds the dot under the pointer among a hundred thousand.

import { data } from "./data.js";
import { fromX, fromY, toX, toY } from "./map_view.js";

const CELLS = 128; // per side

const grid = { rows: null, starts: null }; // documents by cell, and where each cell begins

const cellAt = (value) => Math.max(0, Math.min(CELLS - 1, Math.floor(((value + 1) / 2) * CELLS)));

export function indexDots() {
  const { x, y } = data.documents;
  const cell = (row) => cellAt(y[row]) * CELLS + cellAt(x[row]);
  grid.starts = new Uint32Array(CELLS * CELLS + 1);
  for (let row = 0; row < x.length; row++) grid.starts[cell(row) + 1]++;
  for (let i = 1; i < grid.starts.length; i++) grid.starts[i] += grid.starts[i - 1];
  const next = grid.starts.slice();
  grid.rows = new Uint32Array(x.length);
  for (let row = 0; row < x.length; row++) grid.rows[next[cell(row)]++] = row;
}

// The document whose dot is nearest to a place on the screen, or null where none is within reach.
export function dotAt(px, py, reach = 12) {
  const { x, y } = data.documents;
  const [left, right] = [cellAt(fromX(px - reach)), cellAt(fromX(px + reach))];
  const [low, high] = [cellAt(fromY(py + reach)), cellAt(fromY(py - reach))];
  let nearest = null;
  let least = reach * reach;
  for (let j = low; j <= high; j++) {
    for (let i = grid.starts[j * CELLS + left]; i < grid.starts[j * CELLS + right + 1]; i++) {
      const row = grid.rows[i];
      const distance = (toX(x[row]) - px) ** 2 + (toY(y[row]) - py) ** 2;
      if (distance < least) [nearest, least] = [row, distance];
    }
  }
  return nearest;
}
