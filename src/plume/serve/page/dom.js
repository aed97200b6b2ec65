// Elements, and the words on them. Text is only ever set as text.

/** An element; attributes that begin with "on" are listeners, children are elements or plain text. */
export function make(name, attributes = {}, ...children) {
  const svg = name.startsWith("svg:");
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (!svg && key in element && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
}

let count = 0;
const fresh = () => `e${++count}`;

/** A labelled control: the label above it, a hint below it. */
export function field(label, control, hint) {
  control.id ||= fresh();
  const help = hint ? make("small", { id: fresh(), class: "hint" }, hint) : null;
  if (help) control.setAttribute("aria-describedby", help.id);
  return make("div", { class: "field" }, make("label", { for: control.id }, label), control, help);
}

export function area(value, attributes = {}) {
  const made = make("textarea", { rows: "5", spellcheck: "false", ...attributes });
  made.value = value ?? "";
  return made;
}

export function input(value, attributes = {}) {
  const made = make("input", { autocomplete: "off", spellcheck: "false", ...attributes });
  made.value = value ?? "";
  return made;
}

/** Options are [value, text]; onchange gets the value. */
export function select(options, value, onchange, attributes = {}) {
  const made = make("select", attributes, options.map(([key, text]) => make("option", { value: key, selected: key === value }, text)));
  made.addEventListener("change", () => onchange(made.value));
  return made;
}

/** One of a few, side by side: radio buttons, so that arrow keys move among them. */
export function choice(legend, options, value, onchange) {
  const name = fresh();
  return make("fieldset", { class: "choice" }, make("legend", {}, legend), make("div", {}, options.map(([key, text, hint]) => {
    const radio = make("input", { type: "radio", name, value: key, checked: key === value, onchange: () => onchange(key) });
    return make("label", { title: hint }, radio, make("span", {}, text));
  })));
}

/** Arrow keys, Home and End move among the elements of a list; only one of them is in the tab order. */
export function roving(list, selector, across = "ArrowLeft ArrowRight ArrowUp ArrowDown") {
  const all = () => [...list.querySelectorAll(selector)];
  const settle = chosen => all().forEach(one => { one.tabIndex = one === chosen ? 0 : -1; });
  settle(all().find(one => one.getAttribute("aria-selected") === "true") ?? all()[0]);
  list.addEventListener("focusin", event => { const one = event.target.closest(selector); if (one) settle(one); });
  list.addEventListener("keydown", event => {
    const items = all(), at = items.indexOf(event.target.closest(selector));
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -at, End: items.length - 1 - at }[event.key];
    if (at < 0 || step === undefined || (event.key.startsWith("Arrow") && !across.includes(event.key))) return;
    event.preventDefault();
    items[(at + step + items.length) % items.length].focus();
  });
}

/** Text as a list of characters, as Python counts them: offsets of the server are into this. */
export const characters = text => Array.from(text);

export const percent = share => `${(100 * share).toFixed(share > 0.0995 || share === 0 ? 0 : 1)}%`;
export const number = value => Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : Math.abs(value) < 0.1 ? 3 : 2);

/** A share as a bar. */
export function bar(share, attributes = {}) {
  const inside = make("i");
  inside.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return make("span", { class: "bar", "aria-hidden": "true", ...attributes }, inside);
}
