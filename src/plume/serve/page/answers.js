// Answers as they are seen: spans in their text, labels with bars, numbers on a scale.
import { bar, characters, make, number, percent, roving } from "./dom.js";
import { t } from "./words.js";

const HUES = 8;

/** Each label has a hue, the same in every answer of a page; beside the colour it is always written. */
const known = new Map();
function hue(label) {
  if (!known.has(label)) known.set(label, known.size % HUES);
  return known.get(label);
}

/** Text with spans marked: each with its label behind it. */
export function marked(text, spans) {
  const letters = characters(text), found = [];
  let at = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    if (span.start < at) continue; // one within another
    found.push(letters.slice(at, span.start).join(""));
    found.push(make("mark", { class: `span hue-${hue(span.label)}`, title: span.score === undefined ? null : `${span.label} ${percent(span.score)}` },
      letters.slice(span.start, span.end).join(""), make("small", {}, span.label)));
    at = span.end;
  }
  return make("p", { class: "reading" }, ...found, letters.slice(at).join(""));
}

function legend(spans) {
  const counts = new Map();
  for (const span of spans) counts.set(span.label, (counts.get(span.label) ?? 0) + 1);
  return make("ul", { class: "legend", "aria-label": t("legend") }, [...counts].sort().map(([label, count]) =>
    make("li", {}, make("i", { class: `swatch hue-${hue(label)}`, "aria-hidden": "true" }), label, make("b", {}, String(count)))));
}

function entities(place, text, spans) {
  if (!spans.length) {
    place.replaceChildren(make("p", { class: "reading" }, text));
    return t("no_spans");
  }
  const rows = spans.map(span => make("tr", {}, make("td", {}, span.text), make("td", {}, make("i", { class: `swatch hue-${hue(span.label)}`, "aria-hidden": "true" }), span.label),
    make("td", { class: "number" }, span.score === undefined ? "" : percent(span.score))));
  place.replaceChildren(marked(text, spans), legend(spans), make("details", {}, make("summary", {}, t("as_table")),
    make("table", {}, make("thead", {}, make("tr", {}, [t("text"), t("label"), t("score")].map(name => make("th", { scope: "col" }, name)))), make("tbody", {}, rows))));
  return t("found_spans", { count: spans.length });
}

/** Labels, the likeliest first, each with its share. */
export function bars(shares, chosen) {
  const sorted = Object.entries(shares).sort((a, b) => b[1] - a[1]);
  const shown = sorted.slice(0, 12);
  const list = make("ol", { class: "bars" }, shown.map(([label, share]) => make("li", { class: chosen.includes(label) ? "chosen" : "" },
    make("span", { class: "name" }, label), bar(share), make("span", { class: "number" }, percent(share)))));
  return sorted.length > shown.length ? [list, make("p", { class: "hint" }, t("more_labels", { count: sorted.length - shown.length }))] : [list];
}

/** A number on a scale that begins at nothing and ends at a round one. */
function gauge(value, mean) {
  const reach = Math.max(Math.abs(value), 1.5 * Math.abs(mean ?? 0));
  const end = [1, 5, 10, 50, 100, 500, 1000].find(one => one >= reach) ?? reach, begin = value < 0 ? -end : 0;
  const at = one => `${100 * Math.max(0, Math.min(1, (one - begin) / (end - begin)))}%`;
  const fill = make("i"), pin = make("b");
  fill.style.width = at(value);
  pin.style.left = at(mean ?? value);
  return make("div", { class: "gauge" }, make("strong", {}, number(value)),
    make("div", { class: "scale", role: "img", "aria-label": t("gauge", { value: number(value), begin, end }) }, fill, mean === null || mean === undefined ? null : pin),
    make("div", { class: "ends", "aria-hidden": "true" }, make("span", {}, String(begin)), make("span", {}, String(end))),
    mean === null || mean === undefined ? null : make("p", { class: "hint" }, t("mean", { mean: number(mean) })));
}

function answered(place, answer, context) {
  const spans = answer.answer ? [{ start: answer.start, end: answer.end, label: t("answer"), score: answer.score }] : [];
  place.replaceChildren(make("p", { class: "said" }, answer.answer || t("no_answer")), marked(context, spans));
  return answer.answer ? t("sure", { share: percent(answer.score ?? 0) }) : t("no_answer");
}

function choices(place, answer, texts) {
  place.replaceChildren(...bars(Object.fromEntries(answer.scores.map((share, at) => [texts[at] ?? String(at + 1), share])), [answer.choice]));
  return answer.choice;
}

function plain(place, answer) {
  place.replaceChildren(make("p", { class: "reading said" }, answer.text ?? JSON.stringify(answer)));
  return answer.score === undefined ? "" : t("sure", { share: percent(answer.score) });
}

/** Whatever a task answers, by what is in the answer. */
export function predicted(place, answer, fields, task) {
  if (answer.entities) return entities(place, fields.text, answer.entities);
  if (answer.words) return entities(place, fields.text, answer.words.map(word => ({ ...word, label: word.tag })));
  if (answer.choice !== undefined) return choices(place, answer, (fields.choices ?? "").split("\n").map(one => one.trim()).filter(Boolean));
  if (answer.start !== undefined || task?.reads === "question") return answered(place, answer, fields.context ?? "");
  if (answer.scores) {
    const chosen = answer.labels ?? [answer.label];
    place.replaceChildren(make("p", { class: "said" }, chosen.join(", ") || t("no_label")), ...bars(answer.scores, chosen));
    return answer.score === undefined ? t("labels_that_fit", { count: chosen.length }) : t("sure", { share: percent(answer.score) });
  }
  if (answer.text === undefined && answer.score !== undefined) {
    place.replaceChildren(gauge(answer.score, task?.mean));
    return "";
  }
  return plain(place, answer);
}

/** Blanks with their guesses; a guess that is clicked stands in the text. */
export function filled(place, text, blanks) {
  const parts = text.split(/_{3,}|\[MASK\]|<mask>/), chosen = blanks.map(guesses => guesses[0].token.trim());
  const slots = blanks.map((_, at) => make("mark", { class: `span slot hue-${at % HUES}` }, chosen[at]));
  const line = make("p", { class: "reading" }, ...parts.flatMap((part, at) => at < slots.length ? [part, slots[at]] : [part]));
  const lists = blanks.map((guesses, at) => {
    const list = make("div", { class: "guesses", role: "listbox", "aria-label": t("guesses_of", { number: at + 1 }) }, guesses.map((guess, place) => make("button", {
      role: "option", "aria-selected": String(place === 0),
      onclick: event => {
        slots[at].textContent = guess.token.trim();
        for (const other of list.children) other.setAttribute("aria-selected", String(other === event.currentTarget));
      },
    }, make("span", { class: "name" }, guess.token.trim() || "␣"), bar(guess.probability), make("span", { class: "number" }, percent(guess.probability)))));
    roving(list, "button");
    return make("div", {}, make("h3", {}, make("i", { class: `swatch hue-${at % HUES}`, "aria-hidden": "true" }), t("blank", { number: at + 1 })), list);
  });
  place.replaceChildren(line, make("div", { class: "blanks" }, lists));
  return t("choose_guess");
}

/** The same in other words, the nearest first. */
export function reworded(place, texts) {
  place.replaceChildren(make("ol", { class: "bars" }, texts.map(one => make("li", {}, make("span", { class: "name" }, one.text), bar(one.similarity ?? 0), make("span", { class: "number" }, number(one.similarity ?? 0))))));
  return t("nearest_first");
}

/** How likely lines are, the likeliest first. */
export function scored(place, texts, results) {
  const rows = texts.map((text, at) => ({ text, ...results[at] })).sort((a, b) => a.perplexity - b.perplexity);
  place.replaceChildren(make("table", { class: "wide" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, t("text")), [t("perplexity"), t("log_probability"), t("tokens")].map(name => make("th", { scope: "col", class: "number" }, name)))),
    make("tbody", {}, rows.map(row => make("tr", {}, make("td", {}, row.text), [number(row.perplexity), number(row.log_probability), String(row.tokens)].map(value => make("td", { class: "number" }, value)))))));
  return t("likeliest_first");
}
