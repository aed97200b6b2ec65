"use strict";
// One word in many sentences: a map that changes with the layer, and the sentences behind its points.
plume.view("senses", (root, data, say) => {
  const { make } = plume, own = data.senses, count = own.texts.length, layers = own.shown.length;
  const maps = { pca: plume.array(own.principal), tsne: plume.array(own.neighbours) };
  const member = plume.array(own.member), nearest = plume.array(own.nearest), near = own.nearest.shape[2];
  const labels = [...new Set(own.labels)].sort();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let layer = layers - 1, kind = "tsne", by = labels.length ? "labels" : "clusters", chosen = null, pointed = null, from = null, began = 0;

  const slider = make("input", { type: "range", min: "0", max: String(layers - 1), value: String(layer), "aria-label": say("layer"), oninput: () => move(Number(slider.value)) });
  const reading = make("output", { class: "number" });
  const controls = make("div", { class: "row" }, make("label", {}, say("layer"), slider, reading),
    plume.choice(say("map"), [["tsne", say("tsne")], ["pca", say("pca")]], kind, value => { settle(); kind = value; refresh(); }));
  if (labels.length) controls.append(plume.choice(say("colour"), [["labels", say("labels")], ["clusters", say("clusters")]], by, value => { by = value; refresh(); }));
  const said = make("p", { class: "note", "aria-live": "polite" }), picture = make("div", { class: "card map" }), legend = make("div", { class: "legend" });
  const side = make("div", { class: "card sentences", "aria-live": "polite" }), groups = make("div", { class: "beside groups" });
  root.append(controls, said, make("div", { class: "map-and-text" }, make("div", {}, picture, legend), side));
  const canvas = plume.canvas(picture, 440, paint, { tabindex: 0 });
  const curve = make("div", { class: "card" });
  root.append(make("h3", {}, say("curve")), curve, make("h3", {}, say("examples")), groups);
  const lines = [{ name: say("of_clusters"), x: own.silhouette.map((_, i) => i), y: own.silhouette, colour: 0 }];
  if (labels.length) lines.push({ name: say("of_labels"), x: own.label_silhouette.map((_, i) => i), y: own.label_silhouette, colour: 1 });
  const values = lines.flatMap(line => line.y).filter(value => value !== null);
  const chart = curves.chart(curve, { lines, low: Math.min(0, Math.floor(10 * Math.min(0, ...values)) / 10), high: Math.max(.3, Math.ceil(10 * Math.max(.1, ...values)) / 10),
    format: curves.two, height: 190, label: say("curve"), xlabel: say("layer"), chosen: move, at: () => layer });
  canvas.element.addEventListener("pointermove", event => { pointed = nearestPoint(event); canvas.again(); plume.tip(event, pointed === null ? null : snippet(pointed, 90).join("")); });
  canvas.element.addEventListener("pointerleave", event => { pointed = null; canvas.again(); plume.tip(event, null); });
  canvas.element.addEventListener("click", event => { choose(nearestPoint(event)); });
  canvas.element.addEventListener("keydown", walk);
  refresh();

  function groupOf(point) { return by === "labels" ? labels.indexOf(own.labels[point]) : member[layer * count + point]; }
  function points() { return Array.from({ length: count }, (_, i) => i); }

  function place(point, width, tall) {
    const at = (map, which) => [map[(which * count + point) * 2], map[(which * count + point) * 2 + 1]];
    let [x, y] = at(maps[kind], layer);
    if (from) {
      const share = Math.min(1, (performance.now() - began) / 350), eased = share * (2 - share), [a, b] = [from[2 * point], from[2 * point + 1]];
      x = a + (x - a) * eased; y = b + (y - b) * eased;
    }
    const pad = 18;
    return [pad + x * (width - 2 * pad), tall - pad - y * (tall - 2 * pad)];
  }

  function paint(context, width, tall) {
    canvas.element.setAttribute("aria-label", say("points", { count, word: own.word, layer }));
    const held = new Set(chosen === null ? [] : Array.from(nearest.subarray((layer * count + chosen) * near, (layer * count + chosen + 1) * near)));
    for (const point of points()) dot(context, place(point, width, tall), groupOf(point), held.has(point) ? 6 : 4.2, chosen !== null && !held.has(point) && point !== chosen ? .35 : .85);
    for (const point of [chosen, pointed]) if (point !== null) {
      const [x, y] = place(point, width, tall);
      dot(context, [x, y], groupOf(point), 6, 1);
      context.strokeStyle = plume.colour("--ink"); context.lineWidth = 2;
      context.beginPath(); context.arc(x, y, 9, 0, 7); context.stroke();
    }
    if (from && performance.now() - began < 350) requestAnimationFrame(() => canvas.again()); else from = null;
  }

  /** A colour and a shape for each group, for those who tell colours apart badly. */
  function dot(context, [x, y], group, size, alpha) {
    context.globalAlpha = alpha; context.fillStyle = curves.colour(group);
    context.beginPath();
    if (group % 4 === 0) context.arc(x, y, size, 0, 7);
    else if (group % 4 === 1) context.rect(x - size * .85, y - size * .85, size * 1.7, size * 1.7);
    else if (group % 4 === 2) { context.moveTo(x, y - size * 1.2); context.lineTo(x + size * 1.1, y + size * .8); context.lineTo(x - size * 1.1, y + size * .8); }
    else { context.moveTo(x, y - size * 1.25); context.lineTo(x + size * 1.25, y); context.lineTo(x, y + size * 1.25); context.lineTo(x - size * 1.25, y); }
    context.closePath(); context.fill(); context.globalAlpha = 1;
  }

  function nearestPoint(event) {
    const box = canvas.element.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = null, distance = 18 ** 2;
    for (const point of points()) {
      const [a, b] = place(point, box.width, box.height), found = (a - x) ** 2 + (b - y) ** 2;
      if (found < distance) { best = point; distance = found; }
    }
    return best;
  }

  /** From where the points stand now to the new map. */
  function settle() {
    if (calm) return;
    const box = canvas.element.getBoundingClientRect();
    if (!box.width) return;
    const held = new Float32Array(2 * count), pad = 18;
    for (const point of points()) {
      const [x, y] = place(point, box.width, box.height);
      held[2 * point] = (x - pad) / (box.width - 2 * pad); held[2 * point + 1] = (box.height - pad - y) / (box.height - 2 * pad);
    }
    from = held; began = performance.now();
  }

  function move(number) { if (number === layer) return; settle(); layer = number; slider.value = String(number); refresh(); }

  function choose(point) { chosen = point; canvas.again(); sentences(); }

  function walk(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(((chosen ?? (step > 0 ? -1 : 0)) + step + count) % count);
  }

  function snippet(point, most) {
    const [before, word, after] = own.texts[point];
    return [before.length > most ? "…" + before.slice(-most) : before, word, after.length > most ? after.slice(0, most) + "…" : after];
  }
  function marked(point, most = 110) {
    const [before, word, after] = snippet(point, most);
    return [before, make("mark", { style: `--colour: var(--curve-${groupOf(point) % 8})` }, word), after];
  }
  function line(point) { return make("li", {}, make("button", { class: "plain", onclick: () => choose(point) }, ...marked(point))); }

  function sentences() {
    if (chosen === null) { side.replaceChildren(make("p", { class: "note" }, say("none"))); return; }
    const alike = Array.from(nearest.subarray((layer * count + chosen) * near, (layer * count + chosen + 1) * near));
    side.replaceChildren(make("h3", {}, say("chosen")), make("p", {}, ...marked(chosen, 300)), make("h3", {}, say("nearest")), make("ol", {}, ...alike.map(line)));
  }

  function refresh() {
    reading.textContent = layer === 0 ? say("embedding") : `${layer} / ${layers - 1}`;
    const found = own.silhouette[layer], groupsHere = new Set(points().map(point => member[layer * count + point])).size;
    said.textContent = [
      found === null ? say("not_apart") : say("apart", { count: groupsHere, silhouette: curves.two(found) }),
      own.information[layer] === null ? null : say("agree", { information: curves.two(own.information[layer]) }),
      kind === "pca" ? say("shown", { share: curves.percent(own.shown[layer]) }) : say("tsne_about"),
      layer === 0 ? say("embedding_about") : null].filter(Boolean).join(" ");
    canvas.again(); chart.again(); sentences(); drawGroups();
  }

  function drawGroups() {
    const held = new Map();
    for (const point of points()) held.set(groupOf(point), [...held.get(groupOf(point)) ?? [], point]);
    const order = [...held.keys()].sort((a, b) => a - b);
    const called = group => by === "labels" ? say("label_group", { label: labels[group], count: held.get(group).length }) : say("group", { number: group + 1, count: held.get(group).length });
    legend.replaceChildren(...order.map(group => {
      const sample = make("span", { class: "sample dot shape-" + group % 4 });
      sample.style.background = `var(--curve-${group % 8})`;
      return make("span", {}, sample, called(group));
    }));
    groups.replaceChildren(...order.map(group => {
      const every = held.get(group), step = Math.max(1, Math.floor(every.length / 4)), some = every.filter((_, i) => i % step === 0).slice(0, 4);
      return make("div", { class: "card" }, make("p", { class: "heading" }, make("strong", {}, called(group))), make("ul", {}, ...some.map(line)),
        every.length > some.length ? make("p", { class: "note" }, say("more", { count: every.length - some.length })) : null);
    }));
  }
});
