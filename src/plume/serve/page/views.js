// Looking inside: the server makes a page of plume.view, which is shown in a frame of its own.
import { askText } from "./api.js";
import { area, choice, field, make, select } from "./dom.js";
import { examplesOf } from "./examples.js";
import { chooser, examples, find, nothing, runner } from "./panel.js";
import { language, t } from "./words.js";

const BESIDE = ["head", "model", "neuron", "switch"]; // of attention: what two models can be seen in, side by side

export function draw(section, app) {
  const able = app.models.filter(model => model.views.length);
  if (!able.length) return section.append(nothing(t("none_views")));
  const model = find(able, app.fields.model), view = model.views.includes(app.fields.view) ? app.fields.view : model.views[0];
  const partners = BESIDE.includes(view) ? able.filter(other => other !== model && other.views.includes(view)) : [];
  const other = partners.find(one => one.id === app.fields.other);
  section.classList.toggle("both", Boolean(other));
  const text = area(app.fields.text, { rows: "3", name: "text" }), pair = area(app.fields.pair, { rows: "2", name: "pair" });
  for (const control of [text, pair]) control.addEventListener("input", () => app.keep({ [control.name]: control.value }));
  const place = make("div", { class: "answer" }, make("p", { class: "empty" }, t("nothing_yet")));
  const { button, status } = runner(t("look"), async signal => {
    const body = { view, text: text.value, page_language: language() };
    if (pair.value.trim()) body.pair = pair.value;
    if (other) body.against = other.id;
    const page = themed(await askText(`view/${encodeURIComponent(model.id)}`, body, signal));
    const frame = make("iframe", { src: "page/view.html", sandbox: "allow-scripts", title: t(`view_${view}`) });
    hand(page, () => frame.contentWindow, frame);
    const file = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    place.replaceChildren(make("div", { class: "row" },
      make("button", { type: "button", class: "plain", onclick: () => { const tab = window.open("page/view.html", "_blank"); hand(page, () => tab); } }, t("in_a_tab")),
      make("a", { href: file, download: `${[model.id, ...other ? [other.id] : [], view].join("-")}.html` }, t("save"))), frame);
    return t(`view_${view}`);
  });
  const changed = fields => { app.keep(fields); app.again(); };
  const reads = model.tasks[0]?.reads, texts = [field(t(reads === "question" ? "field_question" : "field_text"), text)];
  if (view !== "predictions") texts.push(field(t(reads === "question" ? "field_context" : "field_pair"), pair));
  section.append(make("div", { class: "card ask" },
    make("div", { class: partners.length ? "two" : null }, chooser(t("model"), able, model, id => changed({ model: id })),
      partners.length ? field(t("beside"), select([["", t("beside_none")], ...partners.map(one => [one.id, one.id])], other?.id ?? "", id => changed({ other: id }))) : null),
    choice(t("view"), model.views.map(name => [name, t(`view_${name}`), t(`view_${name}_hint`)]), view, name => changed({ view: name })),
    make("p", { class: "hint" }, t(`view_${view}_hint`)),
    ...other ? [make("div", { class: "two" }, texts)] : texts,
    examples(examplesOf("view", "view"), fields => { changed(fields); document.querySelector("main button.go").click(); }),
    make("div", { class: "row" }, button, status)),
  make("div", { class: "card result framed", role: "region", "aria-label": t("result") }, place));
}

/** Light or dark as the workbench was switched; a page by itself follows the system. */
function themed(page) {
  const { theme } = document.documentElement.dataset;
  return theme ? page.replaceAll("(prefers-color-scheme: dark)", theme === "dark" ? "all" : "not all") : page;
}

/** The page is given to the frame when that says it is ready; a frame that is gone by then has no window, and its message no source, from one look to the next. */
function hand(page, target, inside) {
  function ready(message) {
    const { source, data } = message;
    if (!source || source !== target() || data !== "plume: ready") return;
    window.removeEventListener("message", ready);
    source.postMessage(page, "*");
    inside?.classList.add("ready");
  }
  window.addEventListener("message", ready);
}
