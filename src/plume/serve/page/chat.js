// Turns: what was said, and the next answer as it is written.
import { events } from "./api.js";
import { make } from "./dom.js";
import { t } from "./words.js";

const read = fields => { try { return JSON.parse(fields.turns ?? "[]"); } catch { return []; } };

export function drawTurns(place, fields) {
  place.replaceChildren(make("ol", { class: "turns", "aria-label": t("turns") }, read(fields).map(turn)));
}

function turn(one) {
  return make("li", { class: one.role }, make("small", {}, t(`role_${one.role}`, null) ?? one.role), make("p", {}, one.content));
}

/** What was typed is said, and answered. */
export async function turns(model, fields, place, signal, keep) {
  const said = [...read(fields), { role: "user", content: fields.text ?? "" }];
  const list = make("ol", { class: "turns", "aria-label": t("turns") }, said.map(turn));
  const answer = turn({ role: "assistant", content: "" }), text = answer.querySelector("p");
  answer.classList.add("streams");
  list.append(answer);
  place.replaceChildren(list);
  for await (const event of events("v1/chat/completions", { model: model.id, messages: said, max_tokens: 120 }, signal)) {
    text.append(event.choices?.[0]?.delta?.content ?? "");
    answer.scrollIntoView({ block: "nearest" });
  }
  answer.classList.remove("streams");
  keep({ turns: JSON.stringify([...said, { role: "assistant", content: text.textContent }]), text: "" });
  return t("wrote", { count: Array.from(text.textContent).length });
}
