// Two models on the same input, side by side.
import { choice, make } from "./dom.js";
import { examplesOf } from "./examples.js";
import { chooser, examples, find, nothing, runner } from "./panel.js";
import { form, run, ways } from "./ways.js";
import { t } from "./words.js";

/** Ways that are asked alike, whatever they answer; conversations are for two. */
const shared = (one, other) => ways(one).filter(way => way.reads !== "turns" && ways(other).some(theirs => theirs.reads === way.reads));
/** Of the other model the way that is like this: the same kind of task if there is one. */
const like = (model, way) => ways(model).find(one => one.kind === way.kind && one.reads === way.reads) ?? ways(model).find(one => one.reads === way.reads);

export function draw(section, app) {
  const able = app.models.filter(one => app.models.some(other => other !== one && shared(one, other).length));
  if (!able.length) return section.append(nothing(t("none_compare")));
  const one = find(able, app.fields.model), partners = able.filter(other => other !== one && shared(one, other).length);
  const alike = partners.find(other => ways(one)[0].kind === ways(other)[0].kind);
  const other = partners.find(model => model.id === app.fields.other) ?? alike ?? partners[0];
  const own = shared(one, other), way = own.find(each => each.id === app.fields.way) ?? own[0];
  const sides = [one, other].map(model => ({ model, way: like(model, way), place: make("div", { class: "answer" }, make("p", { class: "empty" }, t("nothing_yet"))), line: make("p", { class: "status" }) }));
  const { button, status } = runner(t("run_both"), async signal => {
    await Promise.all(sides.map(async side => { side.line.textContent = await run(side.model, side.way, app.fields, side.place, signal, () => {}); }));
    return verdict(sides);
  });
  const changed = fields => { app.keep(fields); app.again(); };
  section.append(make("div", { class: "card ask" },
    make("div", { class: "two" }, chooser(t("model_first"), able, one, id => changed({ model: id, way: "" })), chooser(t("model_second"), partners, other, id => changed({ other: id, way: "" }))),
    own.length > 1 ? choice(t("way"), own.map(each => [each.id, each.title]), way.id, id => changed({ way: id })) : null,
    form(way, app.fields, app.keep, true),
    examples(examplesOf(way.kind, way.reads), fields => { changed(fields); document.querySelector("main button.go").click(); }),
    make("div", { class: "row" }, button, status)),
  make("div", { class: "sides" }, sides.map(side => make("div", { class: "card result", role: "region", "aria-label": side.model.id }, make("h2", {}, side.model.id), make("p", { class: "hint" }, side.way.title), side.line, side.place))));
}

/** Do they say the same, where that can be said? */
function verdict(sides) {
  const said = sides.map(side => [...side.place.querySelectorAll(".said, mark.span, .bars .chosen .name")].map(one => one.textContent).join("|"));
  if (sides[0].way.kind !== sides[1].way.kind || !said[0] || !said[1]) return "";
  return said[0] === said[1] ? t("agree") : t("differ");
}
