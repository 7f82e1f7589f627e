// Topics as a tree: those with similar words join first.

import { seriesColour } from "./colours.js";
import { data, placeOfTopic, topicName } from "./data.js";
import { byId, drawing, fillTable, svg } from "./elements.js";
import { counted, decimal } from "./numbers.js";
import { responsive } from "./redraw.js";
import { onChange, state, toggleTopic } from "./selection.js";
import { TICK_SIZE, fontOf, shortTo, textWidth } from "./text_width.js";

const ROW = 22; // pixels
const GAP = 10;

export function startTree() {
  if (!data.tree.joins.length) return;
  const box = byId("tree-chart");
  const draw = responsive(box, (width) => box.replaceChildren(treeOf(width)));
  onChange((changed) => changed.includes("topic") && draw());
  draw();
  fillTable(
    byId("tree-table"),
    [{ text: "topics" }, { text: "join" }, { text: "distance", number: true }],
    nodesOf().slice(data.topics.length).map(({ left, right, distance }) => [left.join(", "), right.join(", "), decimal(distance)]),
  );
}

// Topics, then joins of two earlier nodes: where each is, which topics are below it, and how far apart its sides are.
function nodesOf() {
  const nodes = data.topics.map((_, i) => ({ row: data.tree.order.indexOf(i), topics: [i], distance: 0 }));
  for (const [a, b, distance] of data.tree.joins) {
    const [left, right] = [nodes[a], nodes[b]];
    nodes.push({ a, b, distance, row: (left.row + right.row) / 2, topics: [...left.topics, ...right.topics], left: left.topics, right: right.topics });
  }
  return nodes;
}

function treeOf(width) {
  const font = fontOf(TICK_SIZE);
  const room = Math.min(width * 0.45, Math.max(...data.topics.map((_, i) => textWidth(topicName(i), font))) + GAP);
  const farthest = Math.max(...data.tree.joins.map(([, , distance]) => distance), 1e-9);
  const x = ({ distance }) => room + GAP + ((width - room - 2 * GAP) * distance) / farthest;
  const y = ({ row }) => ROW * (row + 0.5);
  const label = `Tree of ${counted(data.topics.length, "topic")}`;
  const chart = drawing(width, ROW * data.topics.length, label, { role: "group", style: "drawn tree" });
  const nodes = nodesOf();
  for (const node of nodes.slice(data.topics.length)) chart.append(joinOf(node, nodes, x, y));
  data.topics.forEach((_, i) => chart.append(leafOf(i, y(nodes[i]), room, font)));
  return chart;
}

function joinOf(node, nodes, x, y) {
  const [left, right] = [nodes[node.a], nodes[node.b]];
  const path = `M${x(left)},${y(left)}H${x(node)}V${y(right)}H${x(right)}`;
  const style = state.topic === null ? "branch" : node.topics.includes(state.topic) ? "branch chosen" : "branch faded";
  const title = svg("title", {}, `Topics ${node.left.join(", ")} and ${node.right.join(", ")}: distance ${decimal(node.distance)}`);
  return svg("path", { class: style, d: path }, title);
}

function leafOf(i, at, room, font) {
  const chosen = i === state.topic;
  const attributes = {
    class: state.topic === null || chosen ? "node" : "node faded",
    role: "button",
    tabindex: "0",
    "data-topic": i,
    "aria-pressed": String(chosen),
    "aria-label": `Topic ${topicName(i)}`,
    onclick: () => toggleTopic(i),
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggleTopic(i);
    },
  };
  const name = svg("text", { class: chosen ? "node-name chosen" : "node-name", x: room - 4, y: at + 4, "text-anchor": "end" }, shortTo(topicName(i), room - GAP, font));
  return svg("g", attributes, name, svg("circle", { cx: room + GAP, cy: at, r: 4, fill: seriesColour(placeOfTopic[i]) }));
}
