"use strict";
// What every view has: its data and words, elements, arrays, canvases, colours, a tip at the pointer.
const plume = (() => {
  const { data, words, frame } = JSON.parse(document.getElementById("data").textContent);
  const drawn = {}, arrays = new Map(), repaint = new Set();
  const kinds = { uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, int32: Int32Array, float32: Float32Array };

  const reading = () => document.readyState === "loading";
  class Waiting extends Error {}

  /** An array of the data, decoded when it is first asked for. While the page is still being read it may not be there: then what draws waits. */
  function array(reference) {
    const key = reference.array;
    if (!arrays.has(key)) {
      const held = document.getElementById("array-" + key);
      if (reading() && !held?.nextElementSibling) throw new Waiting("still being read");
      const text = atob(held.textContent), bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      arrays.set(key, new kinds[reference.type](bytes.buffer));
    }
    return arrays.get(key);
  }

  /** An element; attributes that begin with "on" are listeners, children are elements or plain text. */
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (key in element && typeof value !== "string") element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children.filter(child => child !== null && child !== undefined));
    return element;
  }

  /** The colour of a custom property as it is now: "--near". */
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const queue = [];
  /** Run when the browser draws next; what takes long is spread over several frames, so that the page answers in between. */
  function soon(work) {
    if (queue.push(work) > 1) return;
    requestAnimationFrame(function next() {
      const start = performance.now();
      do { try { queue[0](); } finally { queue.shift(); } } while (queue.length && performance.now() - start < 12);
      if (queue.length) requestAnimationFrame(next);
    });
  }

  /** A canvas that is painted when it is seen, resized or recoloured: paint(context, width, height) in CSS pixels. */
  function canvas(parent, height, paint, attributes = {}) {
    const element = make("canvas", { role: "img", ...attributes });
    element.style.width = "100%";
    parent.append(element);
    let visible = false, stale = true, waiting = false, tall = height;
    function now() {
      waiting = false;
      const width = element.clientWidth, ratio = window.devicePixelRatio || 1;
      if (!width) return;
      stale = false;
      const wide = Math.round(width * ratio), high = Math.round(tall * ratio);
      if (element.width !== wide || element.height !== high) { element.width = wide; element.height = high; }
      const context = element.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, tall);
      try { paint(context, width, tall); }
      catch (error) {
        if (!(error instanceof Waiting)) throw error;
        setTimeout(again, 40);
      }
    }
    function again(other) {
      if (other !== undefined) tall = other;
      element.style.height = tall + "px";
      stale = true;
      if (visible && !waiting) { waiting = true; soon(now); }
    }
    new IntersectionObserver(entries => {
      visible = entries[entries.length - 1].isIntersecting;
      if (visible && stale) again();
    }, { rootMargin: "200px" }).observe(element);
    let last = 0;
    new ResizeObserver(() => { if (element.clientWidth !== last) { last = element.clientWidth; again(); } }).observe(element);
    repaint.add(again);
    again();
    return { element, again };
  }

  /** A choice among [value, text] pairs. */
  function choice(label, options, value, changed) {
    const select = make("select", { onchange: () => changed(options[select.selectedIndex][0]) },
      ...options.map(([one, text]) => make("option", { selected: one === value }, text)));
    return make("label", {}, label, select);
  }

  let tipped = null;
  /** Say something at the pointer; null: no more. Within a dialog it must stand in it, to be above it. */
  function tip(event, text, parent = document.body) {
    if (text === null || text === undefined) { if (tipped) tipped.hidden = true; return; }
    tipped ??= make("div", { class: "tip", role: "status" });
    if (tipped.parentNode !== parent) parent.append(tipped);
    tipped.hidden = false; tipped.textContent = text;
    const box = tipped.getBoundingClientRect();
    tipped.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 6)) + "px";
    tipped.style.top = (event.clientY + box.height + 26 > innerHeight ? event.clientY - box.height - 10 : event.clientY + 16) + "px";
  }

  const filled = (text, values = {}) => text.replace(/\{(\w+)\}/g, (all, key) => key in values ? values[key] : all);

  /** Register a view: show(root, data, say), where say(key, values) is one of its words. */
  const view = (name, show) => { drawn[name] = show; };

  function draw() {
    for (const name of Object.keys(words)) one(name);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint.forEach(one => one()));
  }
  function one(name) {
    const root = document.getElementById(name).querySelector(".view");
    root.replaceChildren();
    try { drawn[name](root, data, (key, values) => filled(words[name][key] ?? frame[key] ?? key, values)); }
    catch (error) {
      if (error instanceof Waiting) { document.addEventListener("DOMContentLoaded", () => one(name), { once: true }); return; }
      root.append(make("p", { class: "failed" }, filled(frame.failed, { reason: error.message }))); console.error(error);
    }
  }
  return { array, make, colour, canvas, choice, tip, filled, view, draw };
})();
