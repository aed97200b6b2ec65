"use strict";
plume.view("importance", (root, data, say) => {
  const { make } = plume, found = data.importance, state = { place: 0, show: "normalised" };
  const card = make("div", { class: "card" }), controls = make("div", { class: "row" }), sides = make("div", { class: "beside" }), left = make("div", {}), right = make("div", {});
  root.append(card);
  card.append(make("p", { class: "note" }, say("facts", { examples: found.examples, loss: headGrid.shortened(found.loss) })), controls, sides, make("p", { class: "note" }, say("prune", { model: found.model })));
  sides.append(left, right);
  const place = () => found.places[state.place], measured = found.places.every(one => one.without.length);
  const values = () => state.show === "without" ? place().without.map(layer => layer.map(loss => loss - found.loss)) : place()[state.show];
  controls.append(...[
    found.places.length < 2 ? null : plume.choice(say("heads_of"), found.places.map((one, i) => [i, say("place_" + one.place)]), 0, value => { state.place = value; again(); }),
    plume.choice(say("show"), ["normalised", "gradient", ...(measured ? ["without"] : [])].map(key => [key, say(key)]), state.show, value => { state.show = value; again(); }),
  ].filter(Boolean));
  const name = (layer, head) => say("one_head", { layer: layer + 1, head: head + 1 });
  const cells = headGrid.grid(left, { values: values(), signed: true, label: say("grid"), tell: (layer, head, value) => `${name(layer, head)}\n${headGrid.shortened(value)}` });
  const best = make("div", {});
  left.append(best);
  function again() {
    cells.again(values());
    const rows = place().gradient.flatMap((layer, l) => layer.map((value, h) => [l, h, value])).sort((a, b) => b[2] - a[2]).slice(0, 10);
    best.replaceChildren(make("h3", {}, say("best")), make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, make("th", {}, say("head")), make("th", { class: "number" }, say("gradient")), ...(measured ? [make("th", { class: "number" }, say("without"))] : []))),
      make("tbody", {}, ...rows.map(([l, h, value]) => make("tr", {}, make("td", { class: "whole" }, name(l, h)), make("td", { class: "number" }, headGrid.shortened(value)), ...(measured ? [make("td", { class: "number" }, headGrid.shortened(place().without[l][h] - found.loss))] : [])))))));
    scatter?.again();
  }
  let scatter = null, dots = [];
  if (measured) {
    right.append(make("h3", {}, say("scatter")), make("p", { class: "note" }, say("scatter_about")));
    if (found.correlation !== null) right.append(make("p", {}, say("correlation", { value: found.correlation.toFixed(2).replace("-", "−") })));
    scatter = plume.canvas(right, 320, (context, width, height) => {
      const points = found.places.flatMap((one, p) => one.gradient.flatMap((layer, l) => layer.map((value, h) => ({ p, l, h, x: value, y: one.without[l][h] - found.loss }))));
      const pad = { left: 58, right: 12, top: 10, bottom: 34 }, xMost = Math.max(...points.map(one => one.x), 1e-12), low = Math.min(0, ...points.map(one => one.y)), high = Math.max(1e-12, ...points.map(one => one.y));
      const x = value => pad.left + value / xMost * (width - pad.left - pad.right), y = value => height - pad.bottom - (value - low) / (high - low) * (height - pad.top - pad.bottom);
      context.strokeStyle = plume.colour("--line"); context.fillStyle = plume.colour("--quiet"); context.font = "12px system-ui, sans-serif"; context.textBaseline = "middle";
      context.textAlign = "right";
      for (const value of new Set([low, 0, high])) { context.beginPath(); context.moveTo(pad.left, y(value)); context.lineTo(width - pad.right, y(value)); context.stroke(); context.fillText(headGrid.shortened(value), pad.left - 6, y(value)); }
      context.textAlign = "center"; context.fillText(say("gradient"), (pad.left + width) / 2, height - 8);
      dots = points.map(one => ({ ...one, cx: x(one.x), cy: y(one.y) }));
      for (const one of dots) {
        context.globalAlpha = one.p === state.place ? .85 : .25; context.fillStyle = attention.colour(one.l, place().gradient.length);
        context.beginPath(); context.arc(one.cx, one.cy, 4, 0, 7); context.fill();
      }
      context.globalAlpha = 1;
    }, { "aria-label": say("scatter") });
    scatter.element.addEventListener("pointermove", event => {
      const box = scatter.element.getBoundingClientRect(), near = dots.map(one => [Math.hypot(one.cx - event.clientX + box.left, one.cy - event.clientY + box.top), one]).sort((a, b) => a[0] - b[0])[0];
      plume.tip(event, near && near[0] < 12 ? `${say("place_" + found.places[near[1].p].place)}, ${name(near[1].l, near[1].h)}\n${headGrid.shortened(near[1].x)} / ${headGrid.shortened(near[1].y)}` : null);
    });
    scatter.element.addEventListener("pointerleave", event => plume.tip(event, null));
  }
  again();
});
