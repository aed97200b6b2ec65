"use strict";
// Which tokens speak for an answer, and which against it.
plume.view("gradients", (root, data, say) => {
  const { make } = plume, own = data.gradients;
  const signed = value => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(Math.abs(value) < .095 ? 3 : 2);
  const unit = say(own.unit === "number" ? "unit_number" : "unit_odds");
  const called = answer => answer.about ? say("tagged", answer) : answer.answer;
  let chosen = 0;
  const tabs = make("div", { class: "row", role: "tablist", "aria-label": say("answers") });
  const shown = make("div", { class: "card" });
  own.answers.forEach((answer, i) => tabs.append(make("button", {
    role: "tab", onclick: () => choose(i), title: answer.chosen ? say("chosen") : "",
  }, (answer.chosen && !answer.about ? "✓ " : "") + shortened(called(answer), 60))));
  root.append(tabs, shown);
  choose(0);

  function shortened(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }

  function choose(which) {
    chosen = which;
    [...tabs.children].forEach((tab, i) => { tab.setAttribute("aria-selected", String(i === which)); tab.setAttribute("aria-pressed", String(i === which)); });
    const answer = own.answers[which], added = plume.array(answer.added);
    const most = Math.max(1e-9, ...added.map(Math.abs));
    shown.replaceChildren(text(answer, added, most), figures(answer, added), strongest(answer, added, most));
  }

  function text(answer, added, most) {
    const line = make("p", { class: "running attributed" });
    let before = answer.text[0];
    answer.tokens.forEach((token, i) => {
      if (token.space) line.append(" ");
      const which = answer.text[i];
      if (which < 0) { line.append(make("span", { class: "special" }, token.text)); before = which; return; }
      const piece = make("span", { tabindex: 0, class: "piece", style: tint(added[i] / most) }, token.text);
      const speak = event => plume.tip(event.clientX ? event : centre(piece), say("adds", { token: token.text, added: signed(added[i]) }));
      piece.addEventListener("pointermove", speak); piece.addEventListener("focus", speak);
      for (const leave of ["pointerleave", "blur"]) piece.addEventListener(leave, event => plume.tip(event, null));
      line.append(piece);
      before = which;
    });
    return line;
  }

  function centre(element) { const box = element.getBoundingClientRect(); return { clientX: box.left, clientY: box.bottom - 10 }; }

  function tint(value) {
    const name = value >= 0 ? "--near" : "--chosen";
    return `background: color-mix(in srgb, var(${name}) ${(46 * Math.abs(value)).toFixed(1)}%, transparent)`;
  }

  function figures(answer, added) {
    const sum = added.reduce((a, b) => a + b, 0);
    const one = (name, value, odd) => make("div", {}, make("dt", {}, name), make("dd", { class: odd ? "failed" : "" }, value));
    const list = make("dl", { class: "figures" },
      one(say("before", { baseline: say("baseline_" + own.baseline) }), `${signed(answer.before)} ${unit}`),
      one(say("sum"), signed(sum)), one(say("output"), `${signed(answer.output)} ${unit}`),
      one(say("error"), (100 * answer.error).toFixed(answer.error < .001 ? 2 : 1) + "%", answer.error >= .05), one(say("steps"), String(answer.steps)));
    return answer.error >= .05 ? make("div", {}, list, make("p", { class: "failed" }, say("odd"))) : list;
  }

  function strongest(answer, added, most) {
    const order = [...added.keys()].filter(i => answer.text[i] >= 0).sort((a, b) => Math.abs(added[b]) - Math.abs(added[a])).slice(0, 10);
    return make("div", {}, make("h3", {}, say("strongest")), make("div", { class: "bars" }, ...order.flatMap(i => {
      const bar = make("span", { class: "bar " + (added[i] >= 0 ? "for" : "against") });
      bar.style.width = (50 * Math.abs(added[i]) / most).toFixed(1) + "%";
      return [make("span", { class: "token" }, answer.tokens[i].text), make("span", { class: "two-sided" }, bar), make("span", { class: "number" }, signed(added[i]))];
    })));
  }
});
