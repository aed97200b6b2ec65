"use strict";
plume.view("switch", (root, data, say) => attention.beside(root, { models: data.models.filter(model => model.switched) }, (card, model) => {
  const { make } = plume, { switched } = model, state = { place: 0, map: 0, layer: 0, head: 0 };
  const controls = make("div", { class: "row" }), sides = make("div", { class: "beside" }), left = make("div", {}), right = make("div", {});
  card.append(make("p", { class: "note" }, say("kind_" + switched.kind)), controls, sides);
  sides.append(left, right);
  const place = () => switched.places[state.place], percent = attention.percent;
  const change = (layer, head) => place().answers[layer][head].sure - switched.whole.sure;

  function begin() {
    controls.replaceChildren(...[
      switched.places.length < 2 ? null : plume.choice(say("heads_of"), switched.places.map((one, i) => [i, say("place_" + one.place)]), state.place, value => { state.place = value; begin(); }),
    ].filter(Boolean));
    left.replaceChildren(); right.replaceChildren();
    const changes = place().answers.map((layer, l) => layer.map((_, h) => change(l, h)));
    let strongest = [0, 0];
    changes.forEach((layer, l) => layer.forEach((value, h) => { if (Math.abs(value) > Math.abs(changes[strongest[0]][strongest[1]])) strongest = [l, h]; }));
    const made = headGrid.grid(left, { values: changes, signed: true, label: say("grid"), chosen: (layer, head) => { Object.assign(state, { layer, head }); tell(); },
      tell: (layer, head, value) => `${say("one_head", { layer: layer + 1, head: head + 1 })}\n${value > 0 ? say("gains") : say("loses")} ${headGrid.shortened(Math.abs(value))}` });
    const answer = make("div", { class: "answer" });
    left.append(answer);
    const maps = model.maps.map((map, i) => [i, say("place_" + map.place)]);
    right.append(make("h3", {}, say("moved")), make("p", { class: "note" }, say("moved_about")));
    if (maps.length > 1) right.append(make("div", { class: "row" }, plume.choice(say("attention"), maps, state.map, value => { state.map = value; tell(); })));
    const far = headGrid.grid(right, { values: moved(), label: say("moved"), floor: .05, tell: (layer, head, value) => `${say("one_head", { layer: layer + 1, head: head + 1 })}\n${percent(value)}` });
    const nothing = make("p", { class: "note" }, say("moved_none"));
    right.append(nothing);
    function tell() {
      const other = place().answers[state.layer][state.head], name = say("one_head", { layer: state.layer + 1, head: state.head + 1 });
      const value = guess => switched.kind === "number" ? headGrid.shortened(guess[1]) : percent(guess[1]);
      const table = make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, say("whole")), make("th", {}), make("th", {}, say("off", { head: name })), make("th", {}))));
      const body = make("tbody", {});
      switched.whole.guesses.forEach((guess, i) => {
        const without = other.guesses[i] ?? ["", 0];
        body.append(make("tr", {}, make("td", {}, guess[0]), make("td", { class: "number" }, value(guess)), make("td", {}, without[0]), make("td", { class: "number" }, value(without))));
      });
      table.append(body);
      const said = `${name}: ${say("change")} ${headGrid.shortened(change(state.layer, state.head))}`;
      answer.replaceChildren(make("p", {}, said), switched.whole.guesses.length ? make("div", { class: "scroll" }, table) : "");
      const now = moved();
      nothing.hidden = now.some(layer => layer.some(value => value > 0));
      far.again(now);
    }
    function moved() {
      const array = plume.array(place().moved[state.map]), shape = model.maps[state.map].layers.map(layer => layer.length), total = shape.reduce((a, b) => a + b, 0);
      let start = 0;
      for (let layer = 0; layer < state.layer; layer++) start += place().answers[layer].length;
      let next = (start + state.head) * total;
      return shape.map(heads => Array.from({ length: heads }, () => array[next++] / 255));
    }
    Object.assign(state, { layer: strongest[0], head: strongest[1] });
    made.select(...strongest);
  }
  begin();
}));
