// Topics as a graph of their correlations.

function startGraph() {
  const least = byId("graph-least");
  const box = byId("graph-chart");
  const { matrix } = data.correlations;
  const [, most] = extent(matrix.map((row, i) => row.filter((_, j) => j !== i)));
  least.max = String(Math.max(0.1, Math.ceil(most * 50) / 50));
  // Of many topics only the strongest ties to begin with: three for every two topics can be told apart.
  const values = matrix.flatMap((row, i) => row.filter((_, j) => j > i)).sort((a, b) => b - a);
  const few = values[Math.ceil(1.5 * matrix.length)] ?? 0;
  least.value = String(Math.max(0.1, Math.ceil(few * 50) / 50));
  const draw = responsive(box, (width) => box.replaceChildren(graphOf(width, Number(least.value))));
  const show = () => {
    byId("graph-least-value").textContent = Number(least.value).toFixed(2);
    draw();
  };
  least.addEventListener("input", show);
  byId("graph-details").addEventListener("toggle", correlationTable);
  onChange((changed) => {
    if (!changed.includes("topic")) return;
    draw();
    correlationTable();
  });
  show();
}

function graphOf(width, least) {
  const { x, y, matrix } = data.correlations;
  const narrow = width < 560;
  const height = Math.round(Math.max(380, Math.min(620, width * (narrow ? 1.15 : 0.55))));
  const [side, end] = narrow ? [58, 48] : [110, 66]; // room for names
  const px = (i) => width / 2 + x[i] * (width / 2 - side);
  const py = (i) => height / 2 - y[i] * (height / 2 - end);
  const largest = Math.max(...data.topics.map((topic) => topic.share), 1e-9);
  const radius = (i) => 6 + (narrow ? 10 : 18) * Math.sqrt(data.topics[i].share / largest);
  const pairs = [];
  matrix.forEach((row, i) => row.forEach((value, j) => j > i && value >= least && pairs.push([i, j, value])));
  const near = new Set(pairs.filter(([i, j]) => i === state.topic || j === state.topic).flatMap(([i, j]) => [i, j]));
  const faded = (i) => state.topic !== null && i !== state.topic && !near.has(i);
  const chart = svg("svg", { class: "drawn graph", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Graph of ${counted(data.topics.length, "topic")}, ${counted(pairs.length, "pair")} joined` });
  for (const [i, j, value] of pairs) {
    const mine = i === state.topic || j === state.topic;
    chart.append(
      svg(
        "line",
        { class: mine ? "edge chosen" : state.topic === null ? "edge" : "edge faded", x1: px(i), y1: py(i), x2: px(j), y2: py(j), "stroke-width": 1 + 9 * value },
        svg("title", {}, `${topicName(i)} and ${topicName(j)}: correlation ${decimal(value)}`),
      ),
    );
  }
  // All circles before all names: no name hides behind a circle.
  const names = svg("g", { "aria-hidden": "true", class: "node-names" });
  data.topics.forEach((topic, i) => {
    const chosen = i === state.topic;
    const fill = chosen && placeOfTopic[i] >= N_COLOURS ? "var(--accent)" : seriesColour(placeOfTopic[i]);
    const attributes = {
      class: faded(i) ? "node faded" : "node",
      role: "button",
      tabindex: "0",
      "data-topic": i,
      "aria-pressed": String(chosen),
      "aria-label": `Topic ${topicName(i)}, ${percent(topic.share)} of an average document`,
      onclick: () => chooseNode(i),
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        chooseNode(i);
      },
    };
    chart.append(svg("g", attributes, svg("circle", { cx: px(i), cy: py(i), r: radius(i), fill })));
    const words = topic.label.split(", ");
    const font = fontOf(TICK_SIZE, chosen ? 700 : 400);
    const room = 2 * (side - 12);
    const pair = words.slice(0, 2).join(", ");
    const lines = narrow ? words.slice(0, 2) : textWidth(pair, font) <= room ? [pair, ...words.slice(2)] : words;
    const at = Math.max(side - 10, Math.min(width - side + 10, px(i)));
    lines.forEach((line, place) => {
      const style = `node-name${chosen ? " chosen" : faded(i) ? " faded" : ""}`;
      names.append(svg("text", { class: style, x: at, y: py(i) + radius(i) + 13 + 14 * place, "text-anchor": "middle" }, shortTo(line, room, font)));
    });
  });
  chart.append(names);
  return chart;
}

// The chart is drawn again when the choice changes; the keyboard stays where it was.
function chooseNode(i) {
  toggleTopic(i);
  byId("graph-chart").querySelector(`[data-topic="${i}"]`)?.focus({ preventScroll: true });
}

function correlationTable() {
  if (!byId("graph-details").open) return;
  const { matrix } = data.correlations;
  const pairs = [];
  matrix.forEach((row, i) => row.forEach((value, j) => j > i && pairs.push([i, j, value])));
  const mine = state.topic === null ? pairs : pairs.filter(([i, j]) => i === state.topic || j === state.topic);
  const sorted = mine.sort((a, b) => b[2] - a[2]);
  const rows = sorted.length > 40 ? [...sorted.slice(0, 20), ...sorted.slice(-20)] : sorted;
  fillTable(
    byId("graph-table"),
    [{ text: "topic" }, { text: "and topic" }, { text: "correlation", number: true }],
    rows.map(([i, j, value]) => [topicName(i), topicName(j), decimal(value)]),
  );
}
