"use strict";
plume.view("head", (root, data, say) => attention.beside(root, data, (card, model) => {
  const { make } = plume, { share } = attention, ROW = 21, PAD = 6;
  const state = { map: 0, layer: 0, heads: new Set(), from: .1, part: "every", over: null, held: null };
  const controls = make("div", { class: "row" }), swatches = make("div", { class: "row swatches" });
  card.append(controls, swatches);
  const tall = attention.tall(card, paint, { tabindex: "0" });
  const map = () => model.maps[state.map], heads = () => map().layers[state.layer].length;
  const most = () => Math.max(...map().layers.map(layer => layer.length)); // pruned layers have fewer

  function begin() {
    state.layer = Math.min(state.layer, map().layers.length - 1);
    state.over = state.held = null;
    if (!state.heads.size) for (let head = 0; head < most(); head++) state.heads.add(head);
    controls.replaceChildren(...[
      attention.placeChoice(model, say, value => { state.map = value; state.part = "every"; begin(); }),
      attention.layerChoice(map(), say, state.layer, value => { state.layer = value; fresh(); }),
      attention.partChoice(map(), say, state.part, value => { state.part = value; state.over = state.held = null; fresh(); }),
      slider(),
    ].filter(Boolean));
    const chosen = controls.querySelector("select");
    if (model.maps.length > 1) chosen.selectedIndex = state.map;
    fresh();
  }
  function slider() {
    const said = make("output", {}, attention.percent(state.from));
    const range = make("input", { type: "range", min: "0", max: "50", step: "1", value: String(state.from * 100), oninput: () => {
      state.from = Number(range.value) / 100; said.textContent = attention.percent(state.from); tall.again();
    } });
    return make("label", {}, say("from"), range, said);
  }
  function fresh() {
    const { rows, columns } = attention.part(map(), state.part);
    Object.assign(state, { rows, columns });
    swatch();
    tall.element.setAttribute("aria-label", say("lines", { place: say("place_" + map().place), layer: state.layer + 1 }));
    tall.size(Math.max(rows.length, columns.length) * ROW + 2 * PAD);
  }
  function swatch() {
    const bulk = (key, wanted) => make("button", { type: "button", onclick: () => { state.heads = new Set(wanted ? Array(most()).keys() : []); swatch(); tall.again(); } }, say(key));
    const squares = [...Array(heads()).keys()].map(head => {
      const square = make("button", { type: "button", class: "swatch", "aria-pressed": String(state.heads.has(head)), "aria-label": say("one_head", { layer: state.layer + 1, head: head + 1 }),
        onclick: () => { state.heads.has(head) ? state.heads.delete(head) : state.heads.add(head); swatch(); tall.again(); },
        ondblclick: () => { state.heads = new Set([head]); swatch(); tall.again(); } }, String(head + 1));
      square.style.setProperty("--colour", attention.colour(head, heads()));
      return square;
    });
    const focus = [...swatches.children].indexOf(document.activeElement);
    swatches.replaceChildren(make("span", { class: "note" }, say("head")), ...squares, bulk("all", true), bulk("none", false));
    if (focus > 0) swatches.children[focus].focus();
  }

  let shape = null;
  function paint(context, width, height, top) {
    const { rows, columns } = state, total = map().columns.length, list = [...state.heads].filter(head => head < heads());
    const side = Math.min(190, Math.max(84, width * .27)), left = side, right = width - side;
    shape = { side, right, top };
    const y = place => PAD + place * ROW + ROW / 2 - top;
    const chosen = state.over ?? state.held, first = Math.floor((top - height) / ROW), last = (top + 2 * height) / ROW;
    // Each head's lines end a little below those of the one before: they do not cover each other.
    const layers = list.map((head, i) => [attention.bytes(map(), state.layer, head), attention.colour(head, heads()), ((i + .5) / list.length - .5) * (ROW - 7)]);
    context.lineWidth = 1.5;
    function line(from, to, weight, colour, shift) {
      const a = y(from) + shift, b = y(to) + shift, bend = (right - left) * .35;
      context.globalAlpha = Math.min(1, weight); context.strokeStyle = colour;
      context.beginPath(); context.moveTo(left, a); context.bezierCurveTo(left + bend, a, right - bend, b, right, b); context.stroke();
    }
    // Row by row, beginning with another head each time: none lies above all others.
    const turned = row => layers.map((_, i) => layers[(i + row) % layers.length]);
    if (chosen?.side === "left") {
      const start = rows[chosen.at] * total;
      for (const [bytes, colour, shift] of layers) {
        const most = Math.max(.1, ...columns.map(column => share[bytes[start + column]]));
        columns.forEach((column, to) => { const weight = share[bytes[start + column]]; if (weight > .004 * most) line(chosen.at, to, weight / most, colour, shift); });
      }
    } else if (chosen) {
      rows.forEach((row, at) => { for (const [bytes, colour, shift] of turned(at)) { const weight = share[bytes[row * total + columns[chosen.at]]]; if (weight > .004) line(at, chosen.at, weight ** .7, colour, shift); } });
    } else {
      for (let at = Math.max(0, first); at < Math.min(rows.length, last); at++) for (const [bytes, colour, shift] of turned(at)) {
        columns.forEach((column, to) => { const weight = share[bytes[rows[at] * total + column]]; if (weight > 0 && weight >= state.from) line(at, to, weight ** .7 * .85, colour, shift); });
      }
    }
    context.globalAlpha = 1;
    context.font = attention.FONT; context.textBaseline = "middle";
    const ink = plume.colour("--ink"), quiet = plume.colour("--quiet"), wash = plume.colour("--wash");
    function column(indices, names, texts, which) {
      const on = chosen?.side === which ? chosen.at : -1, x = which === "left" ? 0 : right;
      for (let at = Math.max(0, Math.floor(top / ROW) - 1); at < Math.min(indices.length, (top + height) / ROW + 1); at++) {
        const middle = y(at);
        if (on === at) { context.fillStyle = wash; context.fillRect(x, middle - ROW / 2, side, ROW); context.strokeStyle = plume.colour("--near"); context.lineWidth = 1; context.strokeRect(x + .5, middle - ROW / 2 + .5, side - 1, ROW - 1); }
        else if (chosen && chosen.side !== which && layers.length) {
          const wide = side / layers.length;
          layers.forEach(([bytes, colour], number) => {
            const weight = which === "right" ? share[bytes[rows[chosen.at] * total + indices[at]]] : share[bytes[indices[at] * total + columns[chosen.at]]];
            context.globalAlpha = weight ** .7 * .8; context.fillStyle = colour; context.fillRect(x + number * wide, middle - ROW / 2 + 1, wide, ROW - 2);
          });
          context.globalAlpha = 1;
        }
        context.fillStyle = texts[indices[at]] === -1 || texts[indices[at]] === 2 ? quiet : ink;
        context.textAlign = which === "left" ? "right" : "left";
        context.fillText(attention.fitted(context, names[indices[at]], side - 14), which === "left" ? side - 8 : right + 8, middle);
      }
    }
    column(rows, map().rows, map().rowText, "left");
    column(columns, map().columns, map().columnText, "right");
  }

  function under(event) {
    if (!shape) return null;
    const box = tall.element.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const at = Math.floor((y + shape.top - PAD) / ROW), side = x < shape.side ? "left" : x > shape.right ? "right" : null;
    return side && at >= 0 && at < (side === "left" ? state.rows : state.columns).length ? { side, at } : null;
  }
  const same = (one, other) => one?.side === other?.side && one?.at === other?.at;
  tall.element.addEventListener("pointermove", event => {
    const found = under(event), held = state.held;
    if (held && found && found.side !== held.side) { state.over = null; tellShares(event, held.side === "left" ? [held.at, found.at] : [found.at, held.at]); return; }
    plume.tip(event, null);
    if (!same(found, state.over)) { state.over = found; tall.again(); }
  });
  function tellShares(event, [row, column]) {
    const total = map().columns.length, r = state.rows[row], c = state.columns[column];
    const lines = [...state.heads].filter(head => head < heads()).sort((a, b) => a - b)
      .map(head => [head, share[attention.bytes(map(), state.layer, head)[r * total + c]]]).sort((a, b) => b[1] - a[1]).slice(0, 6)
      .map(([head, weight]) => `${say("head")} ${head + 1}: ${attention.percent(weight)}`);
    plume.tip(event, [`${map().rows[r]} → ${map().columns[c]}`, ...lines].join("\n"));
  }
  tall.element.addEventListener("pointerleave", event => { plume.tip(event, null); state.over = null; tall.again(); });
  tall.element.addEventListener("click", event => { const found = under(event); state.held = found && !same(found, state.held) ? found : null; state.over = null; tall.again(); });
  tall.element.addEventListener("keydown", event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") state.held = null;
    else if (step) {
      const at = Math.max(0, Math.min(state.rows.length - 1, (state.held?.side === "left" ? state.held.at : -1) + step));
      state.held = { side: "left", at };
      tall.scroller.scrollTop = Math.max(0, at * ROW - tall.scroller.clientHeight / 2);
    } else return;
    event.preventDefault(); tall.again();
  });
  begin();
}));
