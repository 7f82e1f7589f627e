// Where it all begins.

import { loadData } from "./data.js";
import { startEffects } from "./effects.js";
import { byId } from "./elements.js";
import { startGraph } from "./graph.js";
import { startMap } from "./map.js";
import { goTo, startNavigation } from "./navigation.js";
import { startOverview } from "./overview.js";
import { startPrinting } from "./printing.js";
import { redrawAll } from "./redraw.js";
import { startSearch } from "./search.js";
import { readAddress, state } from "./selection.js";
import { markButtons, startTopicDetail } from "./topic_detail.js";
import { startTopics } from "./topics.js";
import { startTree } from "./tree.js";
import { startVariance } from "./variance.js";

const PARTS = [startNavigation, startOverview, startTopics, startTopicDetail, startMap, startGraph, startTree, startEffects, startVariance, startSearch, startPrinting];

async function start() {
  const status = byId("status");
  try {
    await loadData();
    document.documentElement.classList.add("ready");
    const anchor = /^#([a-z]+)$/.exec(location.hash)?.[1];
    Object.assign(state, readAddress());
    for (const startPart of PARTS) startPart();
    markButtons();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
    status.hidden = true;
    if (anchor && byId(`${anchor}-title`)) goTo(anchor);
  } catch (error) {
    status.hidden = false;
    status.textContent = `The charts could not be drawn: ${error.message}. The table of topics below works without them.`;
    throw error;
  }
}

start();
