// What panels share: which model, the button that runs, what is said while and after.
import { Refused } from "./api.js";
import { make, select } from "./dom.js";
import { refusal, t } from "./words.js";

/** A model is chosen; below its name what it is. */
export function chooser(label, models, chosen, onchange) {
  const control = select(models.map(model => [model.id, model.id]), chosen?.id, onchange);
  control.id = `model-${label.replace(/\W/g, "")}-${Math.random().toString(36).slice(2, 7)}`;
  return make("div", { class: "field model" }, make("label", { for: control.id }, label), control, chosen ? make("p", { class: "hint facts" }, facts(chosen)) : null);
}

export function facts(model) {
  const found = [t(`model_${model.kind.replaceAll(/[ -]/g, "_")}`, null) ?? model.kind];
  if (model.family && !model.index) found.push(model.family);
  if (model.index) found.push(t("documents", { count: model.index.documents.toLocaleString() }));
  if (model.width) found.push(t("dimensions", { count: model.width }));
  if (model.languages.length) found.push(model.languages.slice(0, 6).join(" "));
  if (model.runtime && model.runtime !== "torch") found.push(model.runtime);
  return found.join(" · ");
}

export const find = (models, id) => models.find(model => model.id === id) ?? models[0];
export const nothing = text => make("div", { class: "card empty" }, make("p", {}, text));

/** Why it was refused, in the page's language; the server's own sentence, which knows more, stands behind it. */
export function told(error) {
  const own = refusal(error.code, error.param);
  return own === null ? [`${error.title}: ${error.message}`] : [`${error.title}：${own} `, make("span", { class: "behind", lang: "en" }, error.message)];
}

/** Runs what is given, one at a time: a later run ends the one before. Time and errors are said in the line. */
export function runner(label, work) {
  const status = make("p", { class: "status", role: "status", "aria-live": "polite" });
  const button = make("button", { class: "go", type: "button", "aria-keyshortcuts": "Control+Enter" }, label, make("kbd", { "aria-hidden": "true" }, "Ctrl ↵"));
  let running = null;
  async function go() {
    running?.abort();
    const own = running = new AbortController();
    status.className = "status busy";
    status.textContent = t("busy");
    const begun = performance.now();
    try {
      const said = await work(own.signal);
      if (running !== own) return;
      status.className = "status";
      status.textContent = [said, `${Math.round(performance.now() - begun)} ms`].filter(Boolean).join(" · ");
    } catch (error) {
      if (error.name === "AbortError" || running !== own) return;
      status.className = "status error";
      status.replaceChildren(...error instanceof Refused ? told(error) : [String(error)]);
    } finally {
      if (running === own) running = null;
    }
  }
  button.addEventListener("click", go);
  return { button, status, go };
}

/** Texts to begin with, for those who have none at hand. */
export function examples(list, onchoose) {
  if (!list.length) return null;
  return make("div", { class: "examples" }, make("span", {}, t("examples")), list.map(one => make("button", { type: "button", class: "chip", onclick: () => onchoose(one.fields) }, one.name)));
}
