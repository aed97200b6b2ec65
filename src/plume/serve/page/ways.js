// What a model can be asked on a text: its tasks, and what it does by itself. Each way has fields, asks, and draws the answer.
import { ask, events } from "./api.js";
import { area, field, input, make } from "./dom.js";
import * as answers from "./answers.js";
import { turns } from "./chat.js";
import { t } from "./words.js";

const FIELDS = { text: ["text"], pair: ["text", "second"], question: ["question", "context"], choices: ["context", "choices"], turns: ["text"] };
const LINES = { question: 2, second: 3, choices: 4, labels: 2, text: 6, context: 7 };

/** The ways of a model, those that it was made for first: [{id, title, kind, fields}]. */
export function ways(model) {
  const found = model.tasks.map(task => ({
    id: `task:${task.name}`, title: t(`kind_${task.kind}`, null) ?? task.title, kind: task.kind, reads: task.reads, task, fields: FIELDS[task.reads],
  }));
  const can = name => model.operations.includes(name);
  if (can("fill")) found.push({ id: "fill", title: t("way_fill"), kind: "fill", reads: "fill", fields: ["text"] });
  if (can("generate") && !can("paraphrase") && !found.some(way => way.reads === "turns")) found.push({ id: "write", title: t("way_write"), kind: "write", reads: "write", fields: ["text"] });
  if (can("paraphrase")) found.push({ id: "reword", title: t("way_reword"), kind: "reword", reads: "reword", fields: ["text"] });
  if (can("zero_shot")) found.push({ id: "zero", title: t("way_zero"), kind: "zero", reads: "zero", fields: ["text", "labels"] });
  if (can("score")) found.push({ id: "score", title: t("way_score"), kind: "score", reads: "score", fields: ["text"] });
  return found;
}

/** The controls of a way, filled from what is kept; `keep` is told of each change. */
export function form(way, fields, keep, flat = false) {
  return way.fields.map(name => {
    const short = name === "question" || name === "labels";
    const control = (short ? input : area)(fields[name], short ? { name } : { name, rows: String(flat ? Math.min(3, LINES[name]) : LINES[name]) });
    control.addEventListener("input", () => keep({ [name]: control.value }));
    return field(t(`field_${name}`), control, t(`hint_${way.kind}_${name}`, null) ?? t(`hint_${name}`, null));
  });
}

const listed = text => (text ?? "").split(/[,，;；\n]/).map(one => one.trim()).filter(Boolean);
const lines = text => (text ?? "").split("\n").map(one => one.trim()).filter(Boolean);

function item(way, fields) {
  if (way.reads === "pair") return [fields.text ?? "", fields.second ?? ""];
  if (way.reads === "question") return { question: fields.question ?? "", context: fields.context ?? "" };
  if (way.reads === "choices") return { context: fields.context ?? "", choices: lines(fields.choices) };
  return fields.text ?? "";
}

async function write(model, fields, place, signal) {
  const text = make("span", { class: "written" });
  const box = make("p", { class: "reading streams" }, make("span", { class: "given" }, fields.text ?? ""), text);
  place.replaceChildren(box);
  for await (const event of events("v1/completions", { model: model.id, prompt: fields.text ?? "", max_tokens: 80, temperature: 0.7 }, signal)) {
    text.append(event.choices?.[0]?.text ?? "");
  }
  box.classList.remove("streams");
  return t("wrote", { count: Array.from(text.textContent).length });
}

/** Ask the model, and draw its answer into `place`; returns what is said about it in a line. */
export async function run(model, way, fields, place, signal, keep) {
  if (way.reads === "turns") return turns(model, fields, place, signal, keep);
  if (way.id === "write") return write(model, fields, place, signal);
  if (way.id === "fill") {
    const { results } = await ask("fill", { model: model.id, inputs: fields.text ?? "", top: 8 }, signal);
    return answers.filled(place, fields.text ?? "", results[0]);
  }
  if (way.id === "reword") {
    const { results } = await ask("generate", { model: model.id, paraphrase: fields.text ?? "", samples: 8 }, signal);
    return answers.reworded(place, results[0]);
  }
  if (way.id === "score") {
    const { results } = await ask("score", { model: model.id, inputs: lines(fields.text) }, signal);
    return answers.scored(place, lines(fields.text), results);
  }
  const body = { inputs: [item(way, fields)] };
  if (way.id === "zero") body.labels = listed(fields.labels);
  else body.task = way.task.name;
  const [answer] = (await ask(`predict/${encodeURIComponent(model.id)}`, body, signal)).predictions;
  return answers.predicted(place, answer, fields, way.task);
}
