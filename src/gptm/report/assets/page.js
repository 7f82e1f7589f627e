// Where it all begins.

function startOverview() {
  const { bound } = data.overview;
  const box = byId("bound-chart");
  responsive(box, (width) => {
    const lines = [{ x: bound.map((_, i) => i + 1), y: bound, colour: "var(--accent)" }];
    const label = `${data.overview.sampled ? "Log-density by sweep" : "Lower bound by iteration"}, from ${numberText(bound[0] ?? 0)} to ${numberText(bound.at(-1) ?? 0)}`;
    box.replaceChildren(curveChart({ width, height: 190, lines, label }).chart);
  });
}

function startNavigation() {
  for (const link of document.querySelectorAll(".bar nav a, .skip")) {
    link.addEventListener("click", (event) => {
      event.preventDefault(); // the address keeps the selection
      goTo(link.getAttribute("href").slice(1));
    });
  }
  for (const event of ["popstate", "hashchange"]) window.addEventListener(event, () => update(readAddress(), false));
}

function redrawAll() {
  for (const draw of redraws) draw();
}

// Paper is light, and has no folded parts.
function startPrinting() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("#topics details:not([open])")];
    for (const details of opened) details.open = true;
    document.documentElement.dataset.theme = "light";
    redrawAll();
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    delete document.documentElement.dataset.theme;
    redrawAll();
  });
}

async function start() {
  const status = byId("status");
  try {
    data = await unpack();
    bySize = data.topics.map((topic) => topic.topic).sort((a, b) => data.topics[b].share - data.topics[a].share || a - b);
    bySize.forEach((topic, place) => (placeOfTopic[topic] = place));
    document.documentElement.classList.add("ready");
    const anchor = /^#([a-z]+)$/.exec(location.hash)?.[1];
    Object.assign(state, readAddress());
    startNavigation();
    startOverview();
    startTopics();
    startMap();
    startGraph();
    startEffects();
    startSearch();
    startPrinting();
    showTopic(false);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
    status.hidden = true;
    if (anchor && byId(`${anchor}-title`)) goTo(anchor);
  } catch (error) {
    status.hidden = false;
    status.textContent = `The charts could not be drawn: ${error.message}. The tables below are complete.`;
    throw error;
  }
}

start();
