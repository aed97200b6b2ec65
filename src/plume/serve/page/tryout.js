// Try a model's task on a text.
import { choice, make } from "./dom.js";
import { drawTurns } from "./chat.js";
import { examplesOf } from "./examples.js";
import { chooser, examples, find, nothing, runner } from "./panel.js";
import { form, run, ways } from "./ways.js";
import { t } from "./words.js";

export function draw(section, app) {
  const able = app.models.filter(model => ways(model).length);
  if (!able.length) return section.append(nothing(t("none_try")));
  const model = find(able, app.fields.model), own = ways(model), way = own.find(one => one.id === app.fields.way) ?? own[0];
  const place = make("div", { class: "answer" });
  const talks = way.reads === "turns";
  const { button, status } = runner(talks ? t("say") : t("run"), async signal => {
    const said = await run(model, way, app.fields, place, signal, app.keep);
    if (talks) section.querySelector("textarea[name=text]").value = "";
    return said;
  });
  const fill = fields => { app.keep({ turns: "", ...fields }); app.again(); document.querySelector("main button.go").click(); };
  section.append(make("div", { class: "card ask" },
    chooser(t("model"), able, model, id => { app.keep({ model: id, way: "", turns: "" }); app.again(); }),
    own.length > 1 ? choice(t("way"), own.map(one => [one.id, one.title]), way.id, id => { app.keep({ way: id, turns: "" }); app.again(); }) : null,
    form(way, app.fields, app.keep, talks), examples(examplesOf(way.kind, way.reads), fill),
    make("div", { class: "row" }, button, talks ? make("button", { type: "button", class: "plain", onclick: () => { app.keep({ turns: "" }); app.again(); } }, t("anew")) : null,
      way.task && !["turns", "choices"].includes(way.reads) ? make("button", { type: "button", class: "plain", onclick: () => look(app, model, way) }, t("why")) : null)),
  make("div", { class: "card result", "aria-label": t("result"), role: "region" }, make("h2", {}, way.title), status, place));
  if (talks && app.fields.turns) drawTurns(place, app.fields);
  else place.append(make("p", { class: "empty" }, t("nothing_yet")));
}

/** The same text, looked at from inside. */
function look(app, model, way) {
  const { text, second, question, context } = app.fields;
  app.open("views", { model: model.id, view: "gradients", text: way.reads === "question" ? question : text, pair: way.reads === "question" ? context : second });
}
