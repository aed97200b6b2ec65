// An index is searched, and each hit says why it was found.
import { ask } from "./api.js";
import { bar, choice, field, input, make, number, select } from "./dom.js";
import { examplesOf } from "./examples.js";
import { chooser, examples, find, nothing, runner } from "./panel.js";
import { t } from "./words.js";

const OPERATORS = { text: "=", list: "has", bool: "=", int: ">=", real: ">=" };

export function draw(section, app) {
  const indexes = app.models.filter(model => model.index);
  if (!indexes.length) return section.append(nothing(t("none_search")));
  const model = find(indexes, app.fields.model), { index } = model;
  const mode = index.modes.includes(app.fields.mode) ? app.fields.mode : index.modes[0];
  const place = make("div", { class: "hits" });
  const query = input(app.fields.query, { type: "search", name: "query" }), where = input(app.fields.where, { name: "where", "aria-label": t("filter_field") });
  const top = input(app.fields.top ?? "10", { type: "number", min: "1", max: "100", name: "top" });
  for (const control of [query, where, top]) {
    control.addEventListener("input", () => app.keep({ [control.name]: control.value }));
    control.addEventListener("keydown", event => { if (event.key === "Enter") go(); });
  }
  const filter = text => { where.value = where.value.trim() ? `${where.value.trim()} and ${text}` : text; app.keep({ where: where.value }); where.focus(); };
  const { button, status, go } = runner(t("search"), async signal => {
    const body = { query: query.value, top: Number(top.value) || 10, mode };
    if (where.value.trim()) body.where = where.value.trim();
    if (app.fields.rerank) body.rerank = app.fields.rerank;
    const { hits } = await ask(`search/${encodeURIComponent(model.id)}`, body, signal);
    place.replaceChildren(hits.length ? make("ol", {}, hits.map(hit => drawn(hit, scales(hits), filter))) : make("p", { class: "empty" }, t("no_hits")));
    return t("hits", { count: hits.length });
  });
  const rerankers = app.models.filter(one => one.operations.includes("rerank") && one.tasks.some(task => task.reads === "pair"));
  const fields = Object.entries(index.fields);
  section.append(make("div", { class: "card ask" },
    make("div", { class: "two" }, chooser(t("index"), indexes, model, id => { app.keep({ model: id, where: "" }); app.again(); }),
      index.modes.length > 1 ? choice(t("mode"), index.modes.map(name => [name, t(`mode_${name}`), t(`mode_${name}_hint`)]), mode, name => { app.keep({ mode: name }); app.again(); if (query.value) document.querySelector("main button.go").click(); }) : null),
    field(t("query"), query),
    fields.length ? make("details", { open: Boolean(app.fields.where) || undefined }, make("summary", {}, t("filter")),
      where, make("p", { class: "hint" }, t("filter_hint")),
      make("div", { class: "chips" }, fields.map(([name, kind]) => make("button", { type: "button", class: "chip", onclick: () => filter(`${column(name)} ${OPERATORS[kind]} `) }, name, make("small", {}, t(`type_${kind}`)))))) : null,
    examples(examplesOf("search", "search"), chosen => { app.keep(chosen); app.again(); document.querySelector("main button.go").click(); }),
    make("div", { class: "row" }, button, make("div", { class: "inline" }, field(t("top"), top)),
      rerankers.length ? make("div", { class: "inline" }, field(t("rerank"), select([["", t("rerank_none")], ...rerankers.map(one => [one.id, one.id])], app.fields.rerank ?? "", id => app.keep({ rerank: id })))) : null, status)),
  place);
}

/** The largest of each side: bars are shares of it. */
function scales(hits) {
  const largest = side => Math.max(1e-9, ...hits.map(hit => Math.abs(hit[side] ?? 0)));
  return { score: largest("score"), vectors: largest("vectors"), words: largest("words"), rerank: largest("rerank") };
}

function drawn(hit, scale, filter) {
  const sides = ["vectors", "words", "rerank"].map(side => [side, hit[side]]).filter(([, value]) => value !== undefined && value !== null);
  const why = make("dl", { class: "why", "aria-label": t("why_found") }, sides.map(([side, value]) => make("div", {}, make("dt", {}, t(`side_${side}`)), make("dd", {}, bar(Math.abs(value) / scale[side]), make("span", { class: "number" }, number(value))))));
  const facts = Object.entries(hit.metadata).map(([name, value]) => make("button", { type: "button", class: "chip", title: t("filter_by"), onclick: () => filter(condition(name, value)) }, make("small", {}, name), String(value)));
  return make("li", { class: "card hit" }, make("div", { class: "passage" }, make("p", { class: "reading" }, words(hit.text, hit.matched)), make("p", { class: "chips" }, make("code", {}, hit.id), facts)), why);
}

function condition(name, value) {
  return `${column(name)} ${Array.isArray(value) ? `has ${quoted(value[0])}` : `= ${quoted(value)}`}`;
}
const column = name => /^[a-z_][\w.]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
const quoted = value => typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);

/** The words of the query that the passage has, marked. They are given as they are indexed: in small letters. */
function words(text, matched) {
  if (!matched.length) return text;
  const escaped = matched.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).sort((a, b) => b.length - a.length);
  const pieces = text.split(new RegExp(`(${escaped.map(word => /^[\x00-\u024f]+$/.test(word) ? `\\b${word}\\w*` : word).join("|")})`, "giu"));
  return pieces.map((piece, at) => at % 2 ? make("mark", {}, piece) : piece);
}
