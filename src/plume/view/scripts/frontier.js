"use strict";
// Quality against cost: points that can be walked through by keyboard, the front as a stair, a table, and each model's command.
plume.view("frontier", (root, data, say) => {
  const { make } = plume, models = data.frontier.models, svgns = "http://www.w3.org/2000/svg";
  const baseline = models.find(one => one.role === "baseline");
  const AXES = {
    latency: { value: one => one.latency, less: true, area: one => one.bytes, said: "area_bytes" },
    bytes: { value: one => one.bytes / 1e6, less: true, area: one => one.latency, said: "area_latency" },
    rate: { value: one => one.per_second, less: false, area: one => one.bytes, said: "area_bytes" },
  };
  const COLUMNS = [
    ["name", one => one.name], ["quality", one => one.quality, one => points(one.quality)], ["latency", one => one.latency, one => three(one.latency)],
    ["rate", one => one.per_second, one => three(one.per_second)], ["bytes", one => one.bytes || null, one => three(one.bytes / 1e6)],
    ["parameters", one => one.parameters || null, one => one.parameters.toLocaleString("en")], ["runtime", one => one.runtime],
    ["seconds", one => one.role === "baseline" ? null : one.seconds, one => duration(one.seconds)],
  ];
  let across = "latency", chosen = null, sorted = "quality", down = true;

  const none = value => value === null || value === undefined;
  const points = value => none(value) ? "–" : (value <= 1 ? 100 * value : value).toFixed(1);
  const three = value => none(value) ? "–" : value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
  const duration = value => value < 90 ? `${Math.round(value)} ${say("second")}` : `${Math.round(value / 60)} ${say("minute")}`;

  const control = make("div", { class: "row" }), switches = make("span", { class: "row", role: "group", "aria-label": say("across") });
  for (const name of Object.keys(AXES)) switches.append(make("button", { type: "button", onclick: () => { across = name; refresh(); }, "data-axis": name }, say(name)));
  control.append(switches);
  const picture = make("div", { class: "card plot" }), legend = make("div", { class: "legend" });
  const detail = make("div", { class: "card detail", "aria-live": "polite" });
  const holder = make("div", { class: "scroll card" });
  const failed = models.filter(one => one.reason);
  root.append(control, make("div", { class: "frontier" }, make("div", {}, picture, legend), detail), holder);
  if (failed.length) root.append(make("h3", {}, say("failed")), make("ul", { class: "not-made" }, ...failed.map(one => make("li", {}, make("strong", {}, one.name), " ", one.reason))));
  let width = 0;
  new ResizeObserver(() => { if (picture.clientWidth !== width) { width = picture.clientWidth; draw(); } }).observe(picture);
  refresh();

  function svg(name, attributes, ...children) {
    const element = document.createElementNS(svgns, name);
    for (const [key, value] of Object.entries(attributes)) {
      if (none(value)) continue;
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value); else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  function refresh() {
    for (const button of switches.children) button.setAttribute("aria-pressed", String(button.dataset.axis === across));
    draw(); table(); details();
  }

  function choose(one) {
    chosen = one;
    for (const mark of picture.querySelectorAll(".model")) mark.setAttribute("aria-pressed", String(mark.dataset.name === one.name));
    for (const row of holder.querySelectorAll("tbody tr")) row.classList.toggle("chosen", row.dataset.name === one.name);
    details();
  }

  /** The models that no other beats in quality and in what is across. */
  function front(drawn, axis) {
    const cheap = one => (axis.less ? 1 : -1) * axis.value(one);
    return drawn.filter(one => !drawn.some(other => other.quality >= one.quality && cheap(other) <= cheap(one) && (other.quality > one.quality || cheap(other) < cheap(one))))
      .sort((a, b) => cheap(a) - cheap(b));
  }

  function draw() {
    const axis = AXES[across], drawn = models.filter(one => !none(one.quality) && axis.value(one) > 0);
    legend.replaceChildren(sample("baseline"), sample("variant"), sample("control"), make("span", {}, line(), say("front")), make("span", {}, say(axis.said)));
    if (!width) return;
    if (!drawn.length) { picture.replaceChildren(make("p", { class: "note" }, say("no_points"))); return; }
    const high = width < 520 ? 380 : 460, box = { left: 46, right: 22, top: 24, bottom: 44 };
    const costs = drawn.map(axis.value), qualities = drawn.map(one => one.quality);
    const room = Math.max((Math.max(...costs) / Math.min(...costs)) ** .1, 1.3), low = Math.min(...costs) / room, most = Math.max(...costs) * room;
    const spread = Math.max(Math.max(...qualities) - Math.min(...qualities), .01 * Math.max(...qualities));
    const bottom = Math.min(...qualities) - .12 * spread, top = Math.max(...qualities) + .12 * spread;
    const x = value => box.left + (width - box.left - box.right) * Math.log(value / low) / Math.log(most / low);
    const y = value => box.top + (high - box.top - box.bottom) * (1 - (value - bottom) / (top - bottom));
    const largest = Math.max(...drawn.map(one => axis.area(one) || 0)) || 1, radius = one => Math.max(5, (width < 520 ? 19 : 25) * Math.sqrt((axis.area(one) || 0) / largest));
    const made = svg("svg", { width, height: high, viewBox: `0 0 ${width} ${high}`, role: "group", "aria-label": say("picture", { count: drawn.length, across: say(across) }) });
    for (const tick of rounds(low, most, width < 520)) made.append(svg("line", { x1: x(tick), x2: x(tick), y1: box.top, y2: high - box.bottom, class: "grid" }),
      svg("text", { x: x(tick), y: high - box.bottom + 16, "text-anchor": "middle", class: "tick" }, three(tick)));
    for (const tick of steps(bottom, top)) made.append(svg("line", { x1: box.left, x2: width - box.right, y1: y(tick), y2: y(tick), class: "grid" }),
      svg("text", { x: box.left - 6, y: y(tick) + 4, "text-anchor": "end", class: "tick" }, points(tick)));
    made.append(svg("text", { x: 4, y: 13, class: "axis" }, `${say("quality")} (${data.frontier.metric})`),
      svg("text", { x: width - box.right, y: high - 6, "text-anchor": "end", class: "axis" }, say(across)));
    made.append(svg("path", { d: stair(front(drawn, axis), axis, x, y, box, high), class: "front" }));
    const names = drawn.map(one => [x(axis.value(one)) - 3, y(one.quality) - 3, x(axis.value(one)) + 3, y(one.quality) + 3]), order = [...drawn].sort((a, b) => radius(b) - radius(a)), best = new Set(front(drawn, axis));
    for (const one of order) made.append(point(one, x(axis.value(one)), y(one.quality), radius(one), best.has(one)));
    for (const one of [...drawn].sort((a, b) => best.has(b) - best.has(a) || (b.role !== "variant") - (a.role !== "variant"))) label(made, names, one, x(axis.value(one)), y(one.quality), radius(one), box, best.has(one));
    picture.replaceChildren(made);
  }

  function point(one, x, y, radius, best) {
    const shape = one.role === "control" ? svg("rect", { x: x - radius * .8, y: y - radius * .8, width: 1.6 * radius, height: 1.6 * radius }) : svg("circle", { cx: x, cy: y, r: radius });
    const said = say("point", { name: one.name, quality: points(one.quality), latency: three(one.latency), bytes: three(one.bytes / 1e6) });
    return svg("g", { class: `model ${one.role}${best ? " best" : ""}`, tabindex: 0, role: "button", "aria-label": said + (best ? ", " + say("on_front") : ""), "aria-pressed": String(chosen === one), "data-name": one.name,
      onclick: () => choose(one), onkeydown: event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(one); } },
      onpointermove: event => plume.tip(event, said), onpointerleave: event => plume.tip(event, null) }, shape, svg("circle", { cx: x, cy: y, r: 1.8, class: "centre" }));
  }

  /** A name beside its point, where there is room; the rest have theirs at the pointer and in the table. */
  function label(made, taken, one, x, y, radius, box, best) {
    const wide = (one.role === "baseline" ? 7.2 : 6.4) * one.name.length, places = [[x + radius + 4, y + 4, "start"], [x - radius - 4, y + 4, "end"], [x, y - radius - 5, "middle"], [x, y + radius + 13, "middle"]];
    if (best) places.unshift([x - radius * .7 - 3, y - radius * .7 - 3, AXES[across].less ? "end" : "start"], [x, y - radius - 5, "middle"]);  // away from the stair
    for (const [a, b, anchor] of places) {
      const left = anchor === "start" ? a : anchor === "end" ? a - wide : a - wide / 2, own = [left, b - 11, left + wide, b + 3];
      if (left < box.left || left + wide > width - 2 || taken.some(other => own[0] < other[2] && own[2] > other[0] && own[1] < other[3] && own[3] > other[1])) continue;
      taken.push(own);
      made.append(svg("text", { x: a, y: b, "text-anchor": anchor, class: "name" + (one.role === "baseline" ? " original" : "") }, one.name));
      return;
    }
  }

  /** Between two of the front one can only have the worse of both: a stair, not a slope. */
  function stair(best, axis, x, y, box, high) {
    if (!best.length) return "";
    const places = best.map(one => [x(axis.value(one)), y(one.quality)]);
    let path = `M ${places[0][0]} ${high - box.bottom} V ${places[0][1]}`;
    for (const [a, b] of places.slice(1)) path += ` H ${a} V ${b}`;
    return path + ` H ${axis.less ? width - box.right : box.left}`;
  }

  function rounds(low, high, few) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) for (const first of [1, 2, 5]) { const value = first * 10 ** power; if (value >= low && value <= high) found.push(value); }
    return few && found.length > 5 ? found.filter((_, i) => i % 2 === 0) : found;
  }
  function steps(low, high) {
    const raw = (high - low) / 6, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map(one => one * power).find(one => one >= raw), found = [];
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(value);
    return found;
  }

  function sample(role) { return make("span", {}, make("span", { class: "sample " + role }), say(role)); }
  function line() { return make("span", { class: "sample front-line" }); }

  function table() {
    const [, value] = COLUMNS.find(([name]) => name === sorted), way = down ? -1 : 1;
    const rows = models.filter(one => !one.reason).sort((a, b) => {
      const one = value(a), other = value(b);
      if (none(one) || none(other)) return none(one) - none(other);
      return way * (typeof one === "string" ? one.localeCompare(other) : one - other);
    });
    const heads = COLUMNS.map(([name]) => make("th", { class: ["name", "runtime"].includes(name) ? "" : "number", scope: "col", "aria-sort": sorted === name ? (down ? "descending" : "ascending") : null },
      make("button", { type: "button", class: "plain sort", "aria-label": say("sort", { name: say("col_" + name) }), "data-column": name, onclick: () => { down = sorted === name ? !down : !["name", "latency", "bytes"].includes(name); sorted = name; table(); holder.querySelector(`[data-column=${name}]`).focus(); } }, say("col_" + name))));
    holder.replaceChildren(make("table", { class: "models" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows.map(row))));
  }

  function row(one) {
    const cells = COLUMNS.slice(1).map(([name, value, shown]) => make("td", { class: name === "runtime" ? "" : "number" }, none(value(one)) ? "–" : (shown ?? value)(one)));
    const marks = [make("span", { class: "sample " + one.role }), make("button", { type: "button", class: "plain", onclick: event => { event.stopPropagation(); choose(one); } }, one.name), one.on_front ? make("span", { class: "star", title: say("on_front"), "aria-label": say("on_front"), role: "img" }, "★") : null];
    return make("tr", { "data-name": one.name, class: chosen === one ? "chosen" : "", onclick: () => choose(one) }, make("th", { scope: "row" }, ...marks), ...cells);
  }

  function details() {
    if (chosen === null) { detail.replaceChildren(make("p", { class: "note" }, say("choose"))); return; }
    const one = chosen, parts = [make("h3", {}, one.name)];
    if (one.role === "baseline") parts.push(make("p", {}, say("is_original")));
    else {
      parts.push(make("p", { class: "note" }, say("against")), make("dl", { class: "figures" }, ...compared(one)));
      const other = models.find(each => each.name === one.control);
      if (other && !none(other.quality) && !none(one.quality)) {
        const gain = Number(points(one.quality)) - Number(points(other.quality));
        parts.push(make("p", {}, say("control_says", { name: other.name, quality: points(other.quality), gain: (gain >= 0 ? "+" : "−") + Math.abs(gain).toFixed(1) })));
      }
      const button = make("button", { type: "button", class: "copy", onclick: () => copy(one.command, button) }, say("copy"));
      parts.push(make("p", { class: "row command" }, make("strong", {}, say("command")), button), make("pre", { tabindex: 0 }, make("code", {}, one.command.replaceAll(" && ", " &&\n"))));
    }
    detail.replaceChildren(...parts);
  }

  function compared(one) {
    const said = [];
    const fact = (key, value) => said.push(make("div", {}, make("dt", {}, say(key)), make("dd", {}, value)));
    const times = value => value < 10 ? value.toFixed(1) : String(Math.round(value));
    if (!none(one.quality) && baseline.quality > 0) fact("col_quality", (100 * one.quality / baseline.quality).toFixed(1) + "%");
    fact("size", "÷ " + times(baseline.bytes / one.bytes));
    if (!none(one.latency) && !none(baseline.latency)) { fact("one_text", "÷ " + times(baseline.latency / one.latency)); fact("many_texts", "× " + times(one.per_second / baseline.per_second)); }
    return said;
  }

  /** A page opened from a file may not be allowed the clipboard: then the text is selected, to be copied by hand. */
  async function copy(text, button) {
    try { await navigator.clipboard.writeText(text); button.textContent = say("copied"); }
    catch {
      const code = detail.querySelector("pre"), range = document.createRange();
      range.selectNodeContents(code); getSelection().removeAllRanges(); getSelection().addRange(range);
      button.textContent = document.execCommand?.("copy") ? say("copied") : say("copy_failed");
    }
    setTimeout(() => { button.textContent = say("copy"); }, 2500);
  }
});
