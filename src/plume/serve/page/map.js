// Lines as points: what is alike lies together.
import { ask } from "./api.js";
import { area, field, make, roving } from "./dom.js";
import { examplesOf } from "./examples.js";
import { chooser, examples, find, nothing, runner } from "./panel.js";
import { components, cosines } from "./pca.js";
import { t } from "./words.js";

const MOST = 300, LABELLED = 40, TABLE = 14, EDGE = 34;

export function draw(section, app) {
  const able = app.models.filter(model => model.operations.includes("embed"));
  if (!able.length) return section.append(nothing(t("none_map")));
  const model = find(able, app.fields.model), place = make("div", { class: "answer" }, make("p", { class: "empty" }, t("nothing_yet")));
  const text = area(app.fields.lines, { rows: "12", name: "lines" });
  text.addEventListener("input", () => app.keep({ lines: text.value }));
  const { button, status } = runner(t("draw_map"), async signal => {
    const lines = [...new Set(text.value.split("\n").map(one => one.trim()).filter(Boolean))].slice(0, MOST);
    if (lines.length < 3) { place.replaceChildren(make("p", { class: "empty" }, t("few_lines"))); return ""; }
    const vectors = (await ask("v1/embeddings", { model: model.id, input: lines }, signal)).data.map(one => one.embedding);
    const near = cosines(vectors), { places, share } = components(vectors);
    const said = make("p", { class: "pointed", "aria-live": "polite" }, t("point_at"));
    const wide = Math.max(300, Math.min(820, place.clientWidth)), tall = Math.round(Math.min(480, wide * 0.85));
    place.replaceChildren(picture(lines, places, near, said, wide, tall), said, ...(lines.length <= TABLE ? [table(lines, near)] : []));
    return `${t("lines", { count: lines.length })} · ${t("variance", { share: `${Math.round(100 * share)}%` })}`;
  });
  section.append(make("div", { class: "card ask" }, chooser(t("model"), able, model, id => { app.keep({ model: id }); app.again(); }),
    field(t("field_lines"), text, t("hint_lines", { count: MOST })),
    examples(examplesOf("map", "map"), fields => { app.keep(fields); app.again(); document.querySelector("main button.go").click(); }),
    make("div", { class: "row" }, button)),
  make("div", { class: "card result", role: "region", "aria-label": t("map") }, make("h2", {}, t("map")), status, place));
}

function picture(lines, places, near, said, wide, tall) {
  const range = axis => { const all = places.map(one => one[axis]); return [Math.min(...all), Math.max(...all)]; };
  const [left, right] = range(0), [low, high] = range(1);
  const scale = Math.min((wide - 2 * EDGE) / (right - left || 1), (tall - 2 * EDGE) / (high - low || 1)); // one scale: distances stay true
  const at = ([x, y]) => [wide / 2 + (x - (left + right) / 2) * scale, tall / 2 - (y - (low + high) / 2) * scale];
  const points = places.map(at), labels = lines.length <= LABELLED ? placed(lines, points, wide, tall) : [];
  const rays = make("svg:g", { class: "rays" });
  const circles = points.map(([x, y], number) => {
    const dots = make("svg:g", { class: "point", role: "option", tabindex: "-1", "aria-label": lines[number], "aria-selected": "false" },
      make("svg:circle", { class: "reach", cx: x, cy: y, r: 16 }), make("svg:circle", { cx: x, cy: y, r: 6 }));
    const choose = () => pointed(number);
    for (const event of ["focus", "pointerenter", "click"]) dots.addEventListener(event, choose);
    return dots;
  });
  function pointed(number) {
    const order = near[number].map((value, other) => [value, other]).filter(([, other]) => other !== number).sort((a, b) => b[0] - a[0]).slice(0, 3);
    rays.replaceChildren(...order.map(([, other]) => make("svg:line", { x1: points[number][0], y1: points[number][1], x2: points[other][0], y2: points[other][1] })));
    circles.forEach((one, other) => {
      one.setAttribute("aria-selected", String(other === number));
      one.classList.toggle("near", order.some(([, place]) => place === other));
    });
    said.replaceChildren(make("strong", {}, lines[number]), make("br"), `${t("nearest")} `, ...order.flatMap(([value, other], place) => [place ? " · " : "", `${lines[other]} `, make("span", { class: "number" }, value.toFixed(2))]));
  }
  const picture = make("svg:svg", { viewBox: `0 0 ${wide} ${tall}`, class: "picture", role: "listbox", "aria-label": t("map_label", { count: lines.length }) }, rays,
    make("svg:g", { class: "labels", "aria-hidden": "true" }, labels), ...circles);
  roving(picture, ".point");
  return picture;
}

/** Labels beside their points, where they fit without covering another; long ones are shortened, those without room left out. */
function placed(lines, points, wide, tall) {
  const taken = points.map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]), found = [];
  lines.forEach((line, number) => {
    for (const most of [30, 12]) if (beside(line, points[number], number, most)) break;
  });
  function beside(line, [x, y], number, most) {
    const letters = Array.from(line), text = letters.length > most ? `${letters.slice(0, most - 1).join("").trim()}…` : line;
    const size = Array.from(text).reduce((sum, one) => sum + (one > "\u2e80" ? 14 : 7.1), 0);
    const spots = [[x + 11, y + 5, "start"], [x - 11, y + 5, "end"], [x, y - 13, "middle"], [x, y + 23, "middle"]];
    for (const [at, base, anchor] of spots) {
      const from = anchor === "start" ? at : anchor === "end" ? at - size : at - size / 2, box = [from, base - 13, from + size, base + 4];
      const free = box[0] > 2 && box[2] < wide - 2 && box[1] > 0 && box[3] < tall && !taken.some((other, place) => place !== number && box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1]);
      if (!free) continue;
      taken.push(box);
      found.push(make("svg:text", { x: at, y: base, "text-anchor": anchor }, text));
      return true;
    }
    return false;
  }
  return found;
}

function table(lines, near) {
  const cell = value => {
    const made = make("td", { class: "number" }, value.toFixed(2));
    made.style.setProperty("--share", `${Math.round(Math.max(0, value) ** 2 * 70)}%`);
    return made;
  };
  const head = make("tr", {}, make("td"), lines.map((_, at) => make("th", { scope: "col" }, String(at + 1))));
  const rows = lines.map((line, row) => make("tr", {}, make("th", { scope: "row" }, make("span", {}, `${row + 1}`), line), near[row].map(cell)));
  return make("details", { open: true }, make("summary", {}, t("cosines")), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("cosines") }, make("table", { class: "cosines" }, make("thead", {}, head), make("tbody", {}, rows))));
}
