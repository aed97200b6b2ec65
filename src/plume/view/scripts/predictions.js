"use strict";
// A token is chosen, and every layer says what it would put there.
plume.view("predictions", (root, data, say) => {
  const { make } = plume, own = data.predictions, { tokens, source, places, layers, guesses } = own;
  const probability = plume.array(own.probability), right = plume.array(own.right), rank = plume.array(own.rank);
  const many = own.probability.shape[2], decoder = source.length > 0;
  const at = new Map(places.map((place, i) => [place, i]));
  const share = value => value >= .9995 ? "100%" : value < .0005 ? "<0.1%" : (100 * value).toFixed(value < .1 ? 1 : 0) + "%";
  const layerName = i => layers[i] === 0 ? say("embedding") : say("layer_number", { number: layers[i] });
  const tint = value => `background: color-mix(in srgb, var(--near) ${(4 + 40 * value).toFixed(1)}%, var(--panel))`;
  let chosen = first();

  root.append(make("p", { class: "about" }, say(decoder ? "about_decoder" : own.hides ? "about_hidden" : "about_next"), own.norm ? " " + say("norm") : ""));
  if (decoder) root.append(make("h3", {}, say("read")), make("p", { class: "running card" }, ...source.flatMap(running)));
  root.append(make("h3", {}, say(decoder ? "written" : "text")));
  const strip = make("div", { class: "running card", role: "listbox", "aria-label": say("text") });
  const buttons = new Map();
  tokens.forEach((token, place) => {
    if (token.space) strip.append(" ");
    if (!at.has(place)) { strip.append(make("span", { class: "special" }, token.text)); return; }
    strip.append(button(place, token.text));
  });
  if (at.has(tokens.length)) strip.append(" ", button(tokens.length, "…"));
  const detail = make("div", { class: "card", "aria-live": "polite" }), grid = make("div", { class: "scroll card lens" });
  root.append(strip, detail, make("h3", {}, say("grid")), make("p", { class: "note" }, say("grid_about")), grid);
  drawGrid();
  choose(chosen);

  function running(token) { return [token.space ? " " : "", make("span", {}, token.text)]; }

  /** A token in the middle that is hard to guess says most. */
  function first() {
    const last = layers.length - 1;
    let best = 0, score = -1;
    places.forEach((place, i) => {
      const value = right[i * layers.length + last];
      const gain = value < 0 ? (own.hides ? 2 : 0) : value - right[i * layers.length];
      if (gain > score) { best = i; score = gain; }
    });
    return best;
  }

  function button(place, text) {
    const made = make("button", { class: "piece", role: "option", onclick: () => choose(at.get(place)), onkeydown: walk }, text);
    buttons.set(at.get(place), made);
    return made;
  }

  function walk(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(places.length - 1, chosen + step)));
    buttons.get(chosen).focus();
  }

  function choose(which) {
    buttons.get(chosen)?.setAttribute("aria-selected", "false");
    cells(chosen).forEach(cell => cell.classList.remove("chosen"));
    chosen = which;
    buttons.get(chosen).setAttribute("aria-selected", "true");
    cells(chosen).forEach(cell => cell.classList.add("chosen"));
    strip.classList.toggle("hides", own.hides);
    detail.replaceChildren(heading(), table());
  }

  function known(which) { return right[which * layers.length] >= 0; }
  function token(which) { return places[which] < tokens.length ? tokens[places[which]].text : ""; }
  function heading() {
    const words = known(chosen) ? say("here", { token: token(chosen) }) : say(places[chosen] < tokens.length ? "blank" : "following");
    return make("h3", {}, words);
  }

  function table() {
    const head = make("tr", {}, make("th", {}, say("layer")), make("th", { colspan: many }, say("guesses")),
      ...(known(chosen) ? [make("th", {}, say("right", { token: token(chosen) })), make("th", { class: "number" }, say("rank"))] : []));
    const rows = layers.map((_, layer) => {
      const from = (chosen * layers.length + layer) * many, which = chosen * layers.length + layer;
      const cellsOf = guesses[chosen][layer].map((guess, k) => {
        const value = probability[from + k], hit = known(chosen) && rank[which] === k + 1;
        return make("td", { class: hit ? "guess hit" : "guess", style: tint(value) }, make("span", { class: "token" }, guess), make("small", {}, share(value)));
      });
      const bar = make("span", { class: "bar" });
      bar.style.width = Math.max(1, 100 * Math.max(right[which], 0)) + "%";
      const truth = known(chosen) ? [
        make("td", { class: "truth" }, make("span", { class: "meter" }, bar), make("small", {}, share(right[which]))),
        make("td", { class: "number" }, rank[which].toLocaleString())] : [];
      return make("tr", {}, make("th", {}, layerName(layer)), ...cellsOf, ...truth);
    });
    return make("div", { class: "scroll" }, make("table", { class: "guesses" }, make("thead", {}, head), make("tbody", {}, ...rows)));
  }

  function cells(which) { return grid.querySelectorAll(`[data-place="${which}"]`); }

  function drawGrid() {
    const body = [...layers.keys()].reverse().map(layer => make("tr", {}, make("th", {}, layerName(layer)), ...places.map((_, i) => {
      const which = i * layers.length + layer, top = probability[which * many];
      return make("td", { style: tint(top), class: known(i) && rank[which] === 1 ? "hit" : "", "data-place": String(i), "data-layer": String(layer) }, guesses[i][layer][0]);
    })));
    const foot = make("tr", {}, make("th", {}), ...places.map((_, i) => make("th", { "data-place": String(i), class: "token" }, token(i) || "…")));
    grid.append(make("table", {}, make("tbody", {}, ...body), make("tfoot", {}, foot)));
    grid.addEventListener("click", event => { const cell = event.target.closest("[data-place]"); if (cell) choose(Number(cell.dataset.place)); });
    grid.addEventListener("pointermove", event => {
      const cell = event.target.closest("td[data-place]");
      if (!cell) { plume.tip(event, null); return; }
      const i = Number(cell.dataset.place), layer = Number(cell.dataset.layer), which = i * layers.length + layer;
      const said = { guess: guesses[i][layer][0], share: share(probability[which * many]), layer: say("layer") + " " + layerName(layer),
        token: token(i), rank: rank[which].toLocaleString(), own: share(Math.max(right[which], 0)) };
      plume.tip(event, say(known(i) ? "sure" : "sure_alone", said));
    });
    grid.addEventListener("pointerleave", event => plume.tip(event, null));
  }
});
