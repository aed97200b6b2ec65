// The page: its panels, its switches, and what all of them know.
import { ask, key, Refused, setKey } from "./api.js";
import { field, input, make, roving, select } from "./dom.js";
import { told } from "./panel.js";
import * as state from "./state.js";
import { LANGUAGES, language, setLanguage, t } from "./words.js";
import * as compare from "./compare.js";
import * as map from "./map.js";
import * as search from "./search.js";
import * as tryout from "./tryout.js";
import * as views from "./views.js";

const PANELS = { try: tryout, compare, search, map, views };
const main = document.getElementById("main"), tabs = document.getElementById("tabs");
const app = { models: [], panel: "", fields: {} }; // the fields of every panel are kept while the page is open
const memory = {};

const stored = name => { try { return localStorage.getItem(name); } catch { return null; } };
const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* not allowed to: then not */ } };

function theme(value) {
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
}

/** Light, dark or as the system has it; each press is the next. */
function themeButton() {
  const signs = { system: "◐", light: "☀", dark: "☾" }, names = Object.keys(signs);
  const button = make("button", { class: "plain icon" });
  function shown() {
    const now = stored("plume-theme") ?? "system";
    button.textContent = signs[now];
    button.title = t(`theme_${now}`);
    button.setAttribute("aria-label", `${t("theme")}: ${t(`theme_${now}`)}`);
    theme(now);
    return now;
  }
  button.addEventListener("click", () => { store("plume-theme", names[(names.indexOf(shown()) + 1) % names.length]); shown(); });
  shown();
  return button;
}

/** What a panel gets: the models, its fields, and a way to keep them. */
function context(panel) {
  const fields = memory[panel] ??= {};
  return {
    models: app.models,
    fields,
    keep(changed) {
      Object.assign(fields, changed);
      state.write(panel, fields);
    },
    again: () => { const back = focused(); show(panel); back(); },
    open(other, changed) {
      memory[other] = { ...memory[other], ...changed };
      show(other, true);
    },
  };
}

/** A panel that is drawn anew keeps the focus where it was: on the same control, or the same choice. */
function focused() {
  const active = document.activeElement, name = active?.tagName, all = () => [...main.querySelectorAll(name)];
  if (!main.contains(active) || active === main) return () => {};
  const at = all().indexOf(active), value = active.type === "radio" ? active.value : null;
  return () => (value === null ? all()[at] : all().find(one => one.type === "radio" && one.value === value))?.focus();
}

function show(panel, focus = false) {
  app.panel = panel;
  for (const tab of tabs.children) tab.setAttribute("aria-selected", String(tab.dataset.panel === panel));
  const made = context(panel);
  state.write(panel, made.fields);
  const section = make("section", { role: "tabpanel", "aria-labelledby": `tab-${panel}`, id: "panel", class: `panel ${panel}` });
  main.replaceChildren(section);
  PANELS[panel].draw(section, made);
  tabs.querySelector(`[data-panel=${panel}]`).scrollIntoView?.({ block: "nearest", inline: "nearest" });
  if (focus) tabs.querySelector(`[data-panel=${panel}]`).focus();
}

function frame() {
  document.documentElement.lang = LANGUAGES[language()].code;
  document.title = t("title");
  document.getElementById("skip").textContent = t("skip");
  tabs.setAttribute("aria-label", t("panels"));
  tabs.replaceChildren(...Object.keys(PANELS).map(panel => make("button", {
    role: "tab", id: `tab-${panel}`, "data-panel": panel, "aria-selected": String(panel === app.panel), "aria-controls": "panel", onclick: () => show(panel),
  }, t(`tab_${panel}`))));
  roving(tabs, "button", "ArrowLeft ArrowRight");
  const languages = Object.entries(LANGUAGES).map(([name, one]) => [name, one.title]);
  document.getElementById("switches").replaceChildren(
    select(languages, language(), value => { setLanguage(value); store("plume-language", value); begin(); }, { "aria-label": t("language") }),
    themeButton(),
    make("button", { class: "plain", onclick: () => askKey() , "aria-pressed": String(Boolean(key())) }, t("key")),
  );
  const docs = make("a", { href: "docs" }, t("endpoints"));
  document.getElementById("foot").replaceChildren(make("p", {}, t("foot"), " · ", docs));
}

/** Where the key is asked for: at once if the server wants one, or by the button. */
function askKey(why) {
  const box = input(key(), { type: "password", name: "key" });
  const form = make("form", {
    class: "card key", onsubmit: event => { event.preventDefault(); setKey(box.value.trim()); begin(); },
  }, make("h2", {}, t("key")), why ? make("p", { class: "error", role: "alert" }, why) : null,
  field(t("key_field"), box, t("key_hint")), make("div", { class: "row" }, make("button", { class: "go" }, t("key_use"))));
  main.replaceChildren(form);
  box.focus();
}

async function begin() {
  frame();
  try {
    app.models = (await ask("v1/models")).data;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) return askKey(key() ? t("key_wrong") : t("key_wanted"));
    return main.replaceChildren(make("div", { class: "card" }, make("p", { class: "error", role: "alert" }, told(error)),
      make("button", { class: "go", onclick: begin }, t("again"))));
  }
  document.getElementById("served").textContent = t("served", { count: app.models.length });
  if (app.models.some(model => !model.operations.length && !model.loaded)) setTimeout(() => begin(), 1500); // some are still being loaded
  arrive();
}

function arrive() {
  const { panel, fields } = state.read();
  const asked = panel in PANELS ? panel : "try";
  if (panel in PANELS) memory[asked] = { ...fields };
  show(asked);
}

window.addEventListener("hashchange", () => { if (location.hash.slice(1).split("?")[0] in PANELS) arrive(); });
document.getElementById("skip").addEventListener("click", event => { event.preventDefault(); main.focus(); });
document.addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    main.querySelector("button.go")?.click();
  }
});
theme(stored("plume-theme") ?? "system");
setLanguage(stored("plume-language"));
begin();
