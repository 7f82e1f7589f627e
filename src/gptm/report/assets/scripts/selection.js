// What the reader has chosen, which all parts of the page share. The address keeps it, so that a link shows the same view.

import { data } from "./data.js";

export const state = { topic: null, document: null, query: "", colour: "" };

const listeners = [];
export const onChange = (listener) => listeners.push(listener);

export function update(changes, remember = true) {
  const changed = Object.keys(changes).filter((key) => state[key] !== changes[key]);
  if (!changed.length) return;
  Object.assign(state, changes);
  if (remember) writeAddress();
  for (const listener of listeners) listener(changed);
}

export function toggleTopic(topic) {
  update({ topic: state.topic === topic ? null : topic });
}

function writeAddress() {
  const parts = new URLSearchParams();
  if (state.topic !== null) parts.set("topic", state.topic);
  if (state.document !== null) parts.set("document", data.documents.position[state.document]);
  if (state.query) parts.set("search", state.query);
  if (state.colour) parts.set("colour", state.colour);
  try {
    history.pushState(null, "", `#${parts}`);
  } catch {
    // A page inside another page may have no address of its own; the selection works without.
  }
}

export function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const topic = parts.get("topic");
  const row = data.documents.position.indexOf(Number(parts.get("document") ?? -1));
  const isTopic = topic !== null && /^\d+$/.test(topic) && Number(topic) < data.topics.length;
  const names = data.documents.metadata.map((column) => column.name);
  return {
    topic: isTopic ? Number(topic) : null,
    document: row >= 0 ? row : null,
    query: parts.get("search") ?? "",
    colour: names.includes(parts.get("colour")) ? parts.get("colour") : "",
  };
}
