"use strict";
plume.view("neuron", (root, data, say) => {
  const models = data.models.filter(model => model.maps.some(map => map.neurons));
  attention.beside(root, { models }, (card, model) => {
    const { make } = plume, { share } = attention, ROW = 21, PAD = 6, HEAD = 58;
    const maps = model.maps.filter(map => map.neurons);
    const state = { map: 0, layer: 0, head: 0, row: 0, over: null };
    const controls = make("div", { class: "row" }), notes = make("p", { class: "note" });
    card.append(controls);
    const title = plume.canvas(card, HEAD, heading, { "aria-hidden": "true" });
    const tall = attention.tall(card, paint, { tabindex: "0" });
    card.append(notes);
    const map = () => maps[state.map];

    function begin() {
      state.layer = Math.min(state.layer, map().layers.length - 1);
      state.head = Math.min(state.head, map().layers[state.layer].length - 1);
      state.row = Math.min(state.row, map().rows.length - 1);
      const tokens = plume.choice(say("token"), map().rows.map((name, i) => [i, `${i + 1}  ${name}`]), state.row, value => { state.row = value; fresh(); });
      const turn = (step, key, sign) => make("button", { type: "button", "aria-label": say(key), onclick: () => {
        state.row = (state.row + step + map().rows.length) % map().rows.length; tokens.querySelector("select").selectedIndex = state.row; fresh();
      } }, sign);
      controls.replaceChildren(...[
        maps.length < 2 ? null : plume.choice(say("attention"), maps.map((one, i) => [i, say("place_" + one.place)]), state.map, value => { state.map = value; begin(); }),
        attention.layerChoice(map(), say, state.layer, value => { state.layer = value; begin(); }),
        plume.choice(say("head"), map().layers[state.layer].map((_, i) => [i, String(i + 1)]), state.head, value => { state.head = value; fresh(); }),
        tokens, turn(-1, "earlier", "‹"), turn(1, "later", "›"),
      ].filter(Boolean));
      const said = map().position.length ? map().position.map(one => say("position_" + one)) : [say("position_none")];
      if (map().scale !== 1) said.push(say("scaled", { scale: map().scale.toFixed(3) }));
      notes.textContent = said.join(" ");
      fresh();
    }
    function fresh() {
      tall.element.setAttribute("aria-label", say("drawn", { layer: state.layer + 1, head: state.head + 1 }));
      now = null;
      title.again();
      tall.size(map().columns.length * ROW + PAD);
    }

    let now = null;  // what is drawn, once it is asked for
    function compute() {
      if (now) return;
      const made = map().layers[state.layer][state.head], columns = map().columns.length, width = made.q.values.shape[1];
      const q = plume.array(made.q.values), k = plume.array(made.k.values), b = made.b ? plume.array(made.b.values) : null;
      const query = Float32Array.from(q.subarray(state.row * width, (state.row + 1) * width), value => value * made.q.step);
      const dot = new Float32Array(columns), bias = b && new Float32Array(columns), p = attention.bytes(map(), state.layer, state.head).subarray(state.row * columns, (state.row + 1) * columns);
      let most = 1e-9, largest = 1e-9, product = 1e-9;
      for (let column = 0; column < columns; column++) {
        let sum = 0;
        for (let i = 0; i < width; i++) { const value = query[i] * k[column * width + i] * made.k.step; sum += value; product = Math.max(product, Math.abs(value)); }
        dot[column] = sum * map().scale;
        if (b) bias[column] = b[state.row * columns + column] * made.b.step;
        if (p[column]) most = Math.max(most, Math.abs(dot[column]), b ? Math.abs(bias[column]) : 0);
        largest = Math.max(largest, share[p[column]]);
      }
      now = { width, query, k, step: made.k.step, keyMost: made.k.step * k.reduce((a, value) => Math.max(a, Math.abs(value)), 1), queryMost: query.reduce((a, value) => Math.max(a, Math.abs(value)), 1e-9), dot, bias, p, most, largest, product };
    }
    function places(width) {
      const token = Math.min(150, Math.max(66, width * .17)), small = width < 560, number = small ? 44 : 84, last = small ? 60 : 120;
      const strips = (width - token - number * (now.bias ? 2 : 1) - last - 8 * 4) / 2;
      const key = token + 8, product = key + strips + 8, dot = product + strips + 8, bias = dot + number + 6, softmax = now.bias ? bias + number + 6 : bias;
      return { token, key, strips, product, dot, bias, number, softmax, last: width - softmax - 2, small };
    }
    const signed = value => plume.colour(value < 0 ? "--chosen" : "--near");
    function strip(context, x, y, wide, high, count, value, most) {
      const cell = wide / count, positive = plume.colour("--near"), negative = plume.colour("--chosen");
      context.fillStyle = plume.colour("--stripe"); context.fillRect(x, y, wide, high);
      for (let i = 0; i < count; i++) {
        const one = value(i);
        context.globalAlpha = Math.min(1, Math.abs(one) / most); context.fillStyle = one < 0 ? negative : positive;
        context.fillRect(x + i * cell, y, Math.max(cell - (cell > 4 ? 1 : 0), .6), high);
      }
      context.globalAlpha = 1;
    }
    function heading(context, width) {
      compute();
      const at = places(width);
      context.font = attention.FONT; context.textBaseline = "middle"; context.textAlign = "left"; context.fillStyle = plume.colour("--quiet");
      for (const [name, x, wide] of [["query", 0, at.token + at.strips], ["key", at.key, at.strips], ["product", at.product, at.strips], ["dot", at.dot, at.number], ["softmax", at.softmax, at.last], ...(now.bias ? [["bias", at.bias, at.number]] : [])])
        context.fillText(attention.fitted(context, say(name), wide), name === "query" ? at.product : x, name === "query" ? 12 : 46);
      context.textAlign = "right"; context.fillStyle = plume.colour("--near"); context.font = "600 " + attention.FONT;
      context.fillText(attention.fitted(context, map().rows[state.row], at.token - 6), at.token, 12);
      strip(context, at.key, 4, at.strips, 16, now.width, i => now.query[i], now.queryMost);
    }
    function paint(context, width, height, top) {
      compute();
      const at = places(width), ink = plume.colour("--ink"), quiet = plume.colour("--quiet");
      context.textBaseline = "middle"; context.font = attention.FONT;
      for (let column = Math.max(0, Math.floor(top / ROW) - 1); column < Math.min(map().columns.length, (top + height) / ROW + 1); column++) {
        const y = column * ROW - top + 2, high = ROW - 5, middle = y + high / 2, start = column * now.width, hidden = now.p[column] === 0;
        if (state.over === column) { context.fillStyle = plume.colour("--wash"); context.fillRect(0, y - 2, width, ROW); }
        context.fillStyle = map().columnText[column] === 0 || map().columnText[column] === 1 ? ink : quiet; context.textAlign = "right";
        context.fillText(attention.fitted(context, map().columns[column], at.token - 4), at.token, middle);
        if (hidden) context.globalAlpha = .25;
        strip(context, at.key, y, at.strips, high, now.width, i => now.k[start + i] * now.step, now.keyMost);
        strip(context, at.product, y, at.strips, high, now.width, i => now.query[i] * now.k[start + i] * now.step, now.product);
        if (!hidden) {
          bar(context, at.dot, y, at.number, high, now.dot[column] / now.most, now.dot[column], at.small);
          if (now.bias) bar(context, at.bias, y, at.number, high, now.bias[column] / now.most, now.bias[column], at.small);
        }
        const weight = share[now.p[column]];
        context.fillStyle = plume.colour("--near"); context.fillRect(at.softmax, y, Math.max(0, (at.last - 44) * weight / now.largest), high);
        context.fillStyle = ink; context.textAlign = "right"; context.fillText(attention.percent(weight), at.softmax + at.last, middle);
      }
    }
    function bar(context, x, y, wide, high, part, value, small) {
      const room = small ? 0 : 42, middle = x + (wide - room) / 2;
      context.globalAlpha = .55; context.fillStyle = signed(value);
      if (room) context.fillRect(middle, y, part * (wide - room) / 2, high);
      context.globalAlpha = 1; context.fillStyle = plume.colour("--ink"); context.textAlign = "right";
      context.fillText(value.toFixed(Math.abs(value) < 100 ? 2 : 0).replace("-", "−"), x + wide, y + high / 2);
    }
    const under = event => { const at = Math.floor((event.clientY - tall.element.getBoundingClientRect().top + tall.scroller.scrollTop) / ROW); return at >= 0 && at < map().columns.length ? at : null; };
    tall.element.addEventListener("pointermove", event => {
      const found = now && under(event);
      if (found !== state.over) { state.over = found; tall.again(); }
      plume.tip(event, found === null ? null : `${map().rows[state.row]} → ${map().columns[found]}\nq · k ${now.dot[found].toFixed(3)}${now.bias ? `\n${say("bias")} ${now.bias[found].toFixed(3)}` : ""}\nsoftmax ${attention.percent(share[now.p[found]])}`);
    });
    tall.element.addEventListener("pointerleave", event => { state.over = null; plume.tip(event, null); tall.again(); });
    tall.element.addEventListener("click", event => {
      const found = under(event);
      if (found === null || map().rows.length !== map().columns.length) return;
      state.row = found; begin();
    });
    tall.element.addEventListener("keydown", event => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault(); state.row = (state.row + step + map().rows.length) % map().rows.length; begin();
    });
    begin();
  });
});
