"use strict";
plume.view("model", (root, data, say) => attention.beside(root, data, (card, model) => {
  const { make } = plume, { share } = attention, LABEL = 30, GAP = 4, FEW = 64;
  const state = { map: 0, part: "every", style: "matrix" };
  const controls = make("div", { class: "row" }), grid = make("div", { class: "scroll" });
  card.append(controls, grid);
  const map = () => model.maps[state.map];

  function begin() {
    controls.replaceChildren(...[
      attention.placeChoice(model, say, value => { state.map = value; state.part = "every"; begin(); }),
      attention.partChoice(map(), say, state.part, value => { state.part = value; begin(); }),
      Math.max(map().rows.length, map().columns.length) > FEW ? null
        : plume.choice(say("style"), [["matrix", say("matrix")], ["lines", say("lines_style")]], state.style, value => { state.style = value; begin(); }),
    ].filter(Boolean));
    if (model.maps.length > 1) controls.querySelector("select").selectedIndex = state.map;
    Object.assign(state, attention.part(map(), state.part));
    if (Math.max(state.rows.length, state.columns.length) > FEW) state.style = "matrix";
    grid.replaceChildren();
    const most = Math.max(...map().layers.map(layer => layer.length)), inner = make("div", {});
    inner.style.minWidth = LABEL + most * 34 + "px";
    grid.append(inner);
    plume.canvas(inner, 18, (context, width) => {
      const side = Math.min(104, (width - LABEL) / most - GAP);
      context.font = attention.FONT; context.fillStyle = plume.colour("--quiet"); context.textBaseline = "middle"; context.textAlign = "center";
      for (let head = 0; head < most; head++) context.fillText(String(head + 1), LABEL + head * (side + GAP) + side / 2, 8);
    }, { "aria-hidden": "true" });
    map().layers.forEach((heads, layer) => {
      const size = () => Math.min(104, ((inner.clientWidth || 600) - LABEL) / most - GAP);
      const strip = plume.canvas(inner, size() + GAP, (context, width) => {
        const side = Math.min(104, (width - LABEL) / most - GAP);
        if (Math.abs(strip.element.clientHeight - side - GAP) > 1) { strip.again(side + GAP); return; }
        context.font = attention.FONT; context.fillStyle = plume.colour("--quiet"); context.textBaseline = "middle"; context.textAlign = "right";
        context.fillText(String(layer + 1), LABEL - 8, side / 2);
        heads.forEach((_, head) => picture(context, layer, head, LABEL + head * (side + GAP), 0, side, side));
      }, { "aria-label": say("row_of_heads", { layer: layer + 1 }) });
      const headAt = event => {
        const box = strip.element.getBoundingClientRect(), side = Math.min(104, (box.width - LABEL) / most - GAP);
        const head = Math.floor((event.clientX - box.left - LABEL) / (side + GAP));
        return head >= 0 && head < heads.length ? head : null;
      };
      strip.element.style.cursor = "zoom-in";
      strip.element.addEventListener("pointermove", event => { const head = headAt(event); plume.tip(event, head === null ? null : say("one_head", { layer: layer + 1, head: head + 1 })); });
      strip.element.addEventListener("pointerleave", event => plume.tip(event, null));
      strip.element.addEventListener("click", event => { const head = headAt(event); plume.tip(event, null); if (head !== null) enlarge(layer, head); });
    });
  }

  /** One head: as lines, or as a matrix whose cells hold the most of what they stand for. */
  function picture(context, layer, head, x, y, width, height) {
    const { rows, columns } = state, total = map().columns.length, bytes = attention.bytes(map(), layer, head), heads = map().layers[layer].length;
    context.fillStyle = plume.colour("--stripe"); context.fillRect(x, y, width, height);
    if (!rows.length || !columns.length) return;
    const colour = attention.colour(head, heads);
    if (state.style === "lines") {
      context.strokeStyle = colour; context.lineWidth = 1;
      rows.forEach((row, at) => columns.forEach((column, to) => {
        const weight = share[bytes[row * total + column]];
        if (weight < .04) return;
        context.globalAlpha = Math.min(1, weight ** .8);
        context.beginPath(); context.moveTo(x + 2, y + (at + .5) / rows.length * height); context.lineTo(x + width - 2, y + (to + .5) / columns.length * height); context.stroke();
      }));
      context.globalAlpha = 1;
      return;
    }
    const ratio = window.devicePixelRatio || 1, wide = Math.min(columns.length, Math.round(width * ratio)), high = Math.min(rows.length, Math.round(height * ratio));
    const cells = new Uint8Array(wide * high), across = columns.map((_, to) => Math.floor(to * wide / columns.length));
    rows.forEach((row, at) => {
      const line = Math.floor(at * high / rows.length) * wide, start = row * total;
      for (let to = 0; to < columns.length; to++) { const byte = bytes[start + columns[to]], cell = line + across[to]; if (byte > cells[cell]) cells[cell] = byte; }
    });
    const made = document.createElement("canvas"); made.width = wide; made.height = high;
    const pen = made.getContext("2d");
    pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data, image = pen.createImageData(wide, high);
    for (let i = 0; i < cells.length; i++) { image.data[4 * i] = red; image.data[4 * i + 1] = green; image.data[4 * i + 2] = blue; image.data[4 * i + 3] = cells[i]; }
    pen.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(made, x, y, width, height);
  }

  function enlarge(layer, head) {
    const heads = map().layers[layer].length;
    const title = make("h3", {}, `${say("place_" + map().place)}: ${say("one_head", { layer: layer + 1, head: head + 1 })}`);
    const dialog = make("dialog", { "aria-label": title.textContent });
    const turn = (step, key) => make("button", { type: "button", "aria-label": say(key), onclick: () => { dialog.remove(); enlarge(layer, (head + step + heads) % heads); } }, step < 0 ? "‹" : "›");
    dialog.append(make("div", { class: "row" }, title, turn(-1, "earlier"), turn(1, "later"), make("button", { type: "button", onclick: () => dialog.close() }, say("close"))));
    dialog.addEventListener("close", () => { plume.tip({}, null); dialog.remove(); });
    dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
    root.append(dialog);
    dialog.showModal();
    const { rows, columns } = state, total = map().columns.length;
    let box = null;
    const wide = dialog.clientWidth - 32, named = rows.length <= 48 && columns.length <= 64;
    const side = named ? Math.min(120, wide * .22) : 8, top = named ? Math.min(110, 10 + 7 * Math.max(...columns.map(column => map().columns[column].length))) : 8;
    const cell = Math.min((wide - side) / columns.length, Math.max(1, (innerHeight * .78 - top - 60) / rows.length), 40);
    const canvas = plume.canvas(dialog, top + cell * rows.length + 4, context => {
      box = { x: side, y: top, cell };
      picture(context, layer, head, side, top, cell * columns.length, cell * rows.length);
      if (!named) return;
      context.font = attention.FONT; context.fillStyle = plume.colour("--ink"); context.textBaseline = "middle"; context.textAlign = "right";
      if (cell >= 9) rows.forEach((row, at) => context.fillText(attention.fitted(context, map().rows[row], side - 8), side - 6, top + (at + .5) * cell));
      context.textAlign = "left";
      if (cell >= 9) columns.forEach((column, at) => {
        context.save(); context.translate(side + (at + .5) * cell, top - 6); context.rotate(-Math.PI / 2);
        context.fillText(attention.fitted(context, map().columns[column], top - 10), 0, 0); context.restore();
      });
    }, { "aria-label": title.textContent });
    const bytes = attention.bytes(map(), layer, head);
    canvas.element.addEventListener("pointermove", event => {
      const place = canvas.element.getBoundingClientRect(), at = Math.floor((event.clientY - place.top - box.y) / cell), to = Math.floor((event.clientX - place.left - box.x) / cell);
      const inside = at >= 0 && at < rows.length && to >= 0 && to < columns.length;
      plume.tip(event, inside ? `${map().rows[rows[at]]} → ${map().columns[columns[to]]}\n${attention.percent(share[bytes[rows[at] * total + columns[to]]])}` : null, dialog);
    });
    canvas.element.addEventListener("pointerleave", event => plume.tip(event, null));
  }
  begin();
}));
