"use strict";
// What each layer knows: curves from the embedding to the last layer.
plume.view("layers", (root, data, say) => {
  const { make } = plume, own = data.layers, { chart, percent, two } = curves;
  const upTo = list => list.map((_, i) => i);

  part("probes", own.probes.map(one => ({
    name: one.task, count: say("of_words", { count: one.examples.toLocaleString() }), format: percent, axis: say("accuracy"), low: 0, high: 1,
    lines: [
      line(say("trained"), one.trained, 0), line(say("untrained"), one.untrained, 7, [5, 4]),
      { name: say("majority"), x: upTo(one.trained), y: one.trained.map(() => one.majority), dash: [1, 4], quiet: true }],
  })), own.skipped.length ? say("skipped", { tasks: own.skipped.join(", ") }) : null);
  part("phrases", own.phrases.map(one => ({
    name: one.task, count: say("of_spans", { count: one.spans.toLocaleString(), labels: one.labels }), format: two, axis: say("nmi"),
    low: 0, high: Math.max(.4, Math.ceil(10 * Math.max(...one.trained, ...one.untrained)) / 10),
    lines: [line(say("trained"), one.trained, 0), line(say("untrained"), one.untrained, 7, [5, 4])],
  })));
  if (!own.probes.length && !own.phrases.length) root.append(make("p", { class: "note" }, say("no_tasks")));
  agreement();

  function line(name, y, colour, dash, x) { return { name, x: x ?? upTo(y), y, colour, dash, quiet: Boolean(dash) }; }

  function part(name, charts, note = null) {
    if (!charts.length && !note) return;
    root.append(make("h3", {}, say(name)), make("p", { class: "note" }, say(name + "_about")));
    if (note) root.append(make("p", { class: "note" }, note));
    const grid = make("div", { class: "beside" });
    root.append(grid);
    charts.forEach(one => draw(grid, one));
  }

  function draw(grid, { name, count, lines, format, low, high, axis, several = false }) {
    const first = lines[0], best = first.y.indexOf(Math.max(...first.y));
    const card = make("div", { class: "card" }, make("p", { class: "heading" }, make("strong", {}, name), " ", make("span", { class: "note" },
      [axis, count, ...(several ? [] : [say("best", { layer: first.x[best], value: format(first.y[best]) })])].join(" · "))));
    grid.append(card);
    chart(card, { lines, low, high, format, label: `${name}: ${axis}`, xlabel: say("layer") });
    card.append(numbers(lines, format));
  }

  function numbers(lines, format) {
    const xs = [...new Set(lines.flatMap(one => one.x))].sort((a, b) => a - b);
    const cell = (one, x) => { const i = one.x.indexOf(x); return make("td", { class: "number" }, i < 0 ? "" : format(one.y[i])); };
    return make("details", {}, make("summary", {}, say("numbers")), make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, make("th", {}, say("layer")), ...xs.map(x => make("th", { class: "number" }, String(x))))),
      make("tbody", {}, ...lines.map(one => make("tr", {}, make("th", {}, one.name), ...xs.map(x => cell(one, x))))))));
  }

  function agreement() {
    root.append(make("h3", {}, say("agreement")), make("p", { class: "note" }, say("agreement_about")));
    const found = own.agreement;
    if (!found) { root.append(make("p", { class: "card" }, say("no_agreement", { reason: own.no_agreement }))); return; }
    const names = found.attractors.map(count => say(count > 1 ? "attractors_n" : "attractors_" + count, { count }));
    const grid = make("div", {});
    root.append(grid);
    draw(grid, {
      name: say("agreement"), count: say("of_sentences", { count: found.sentences.reduce((a, b) => a + b, 0) }), format: percent, axis: say("accuracy"), low: 0, high: 1, several: true,
      lines: [...found.right.map((y, i) => line(names[i], y, i, undefined, found.layers)), line(say("untrained_mean"), found.untrained, 7, [5, 4], found.layers),
        { name: say("chance"), x: found.layers, y: found.layers.map(() => .5), dash: [1, 4], quiet: true }],
    });
  }
});
