"use strict";
// Curves by layer: lines with their names at the end, a reading at the pointer, and colours that hold in light and dark.
const curves = (() => {
  const { make } = plume;
  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const LIGHT = ["#1f5fa8", "#b3401f", "#2b7a4b", "#8a4fa3", "#8a6500", "#17808f", "#a03a6b", "#5d6470"];
  const DARK = ["#7db6ff", "#ff9468", "#6fce95", "#cf9bea", "#e2bb52", "#5fcbdb", "#f08bb8", "#a9b1bd"];
  const colour = number => (dark() ? DARK : LIGHT)[number % LIGHT.length];

  /** A number as people read it. */
  const two = value => value.toFixed(2);
  const percent = value => (100 * value).toFixed(value > 0 && value < .01 ? 1 : 0) + "%";

  /** lines: [{name, x: […], y: […], colour: 0…, dash, quiet}]; format(y); low and high of the axis; chosen(x) when clicked. */
  function chart(parent, { lines, low, high, format, height = 230, label, xlabel, chosen = null, at = () => null }) {
    const xs = [...new Set(lines.flatMap(line => line.x))].sort((a, b) => a - b);
    const box = { left: 44, right: 14, top: 12, bottom: 34 };
    let pointed = null, place;
    const ticks = steps(low, high);
    const canvas = plume.canvas(parent, height, (context, width, tall) => {
      const x = value => box.left + (width - box.left - box.right) * (xs.length > 1 ? (value - xs[0]) / (xs[xs.length - 1] - xs[0]) : .5);
      const y = value => box.top + (tall - box.top - box.bottom) * (1 - (value - low) / (high - low));
      place = x;
      context.font = "12px system-ui, sans-serif";
      context.lineWidth = 1;
      context.textBaseline = "middle";
      for (const tick of ticks) {
        context.strokeStyle = plume.colour("--line");
        context.beginPath(); context.moveTo(box.left, y(tick)); context.lineTo(width - box.right, y(tick)); context.stroke();
        context.fillStyle = plume.colour("--quiet"); context.textAlign = "right";
        context.fillText(format(tick), box.left - 6, y(tick));
      }
      context.textAlign = "center"; context.textBaseline = "alphabetic";
      const every = Math.ceil(xs.length * 26 / Math.max(width - box.left - box.right, 1));
      xs.forEach((value, i) => { if (i % every === 0 || i === xs.length - 1) context.fillText(String(value), x(value), tall - 18); });
      if (xlabel) context.fillText(xlabel, box.left + (width - box.left - box.right) / 2, tall - 3);
      const marked = pointed ?? at();
      if (marked !== null) {
        context.strokeStyle = plume.colour("--dot"); context.setLineDash([2, 3]);
        context.beginPath(); context.moveTo(x(marked), box.top); context.lineTo(x(marked), tall - box.bottom); context.stroke();
        context.setLineDash([]);
      }
      for (const line of lines) {
        context.strokeStyle = context.fillStyle = line.quiet ? plume.colour("--dot") : colour(line.colour);
        context.lineWidth = line.quiet ? 1.5 : 2.2;
        context.setLineDash(line.dash ?? []);
        context.beginPath();
        let open = false;
        line.y.forEach((value, i) => {
          if (value === null) { open = false; return; }
          if (open) context.lineTo(x(line.x[i]), y(value)); else context.moveTo(x(line.x[i]), y(value));
          open = true;
        });
        context.stroke(); context.setLineDash([]);
        if (!line.quiet) line.y.forEach((value, i) => {
          if (value === null) return;
          context.beginPath(); context.arc(x(line.x[i]), y(value), line.x[i] === marked ? 4.5 : 3, 0, 7); context.fill();
        });
      }
    }, { "aria-label": label, tabindex: chosen ? 0 : null });
    const element = canvas.element;
    const nearest = event => {
      const from = event.clientX - element.getBoundingClientRect().left;
      return xs.reduce((best, value) => Math.abs(place(value) - from) < Math.abs(place(best) - from) ? value : best, xs[0]);
    };
    element.addEventListener("pointermove", event => {
      pointed = nearest(event); canvas.again();
      const said = lines.flatMap(line => { const i = line.x.indexOf(pointed); return i < 0 || line.y[i] === null ? [] : [line.name + ": " + format(line.y[i])]; });
      plume.tip(event, [(xlabel ? xlabel + " " : "") + pointed, ...said].join("\n"));
    });
    element.addEventListener("pointerleave", () => { pointed = null; canvas.again(); plume.tip(null, null); });
    if (chosen) {
      element.style.cursor = "pointer";
      element.addEventListener("click", event => chosen(nearest(event)));
    }
    parent.append(legend(lines));
    return canvas;
  }

  function legend(lines) {
    return make("div", { class: "legend" }, ...lines.map(line => {
      const sample = make("span", { class: "sample" });
      sample.style.borderTop = `${line.quiet ? 2 : 3}px ${!line.dash ? "solid" : line.dash[0] < 2 ? "dotted" : "dashed"} ${line.quiet ? "var(--dot)" : `var(--curve-${line.colour % 8})`}`;
      return make("span", {}, sample, line.name);
    }));
  }

  /** Round numbers from low to high. */
  function steps(low, high) {
    const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map(one => one * power).find(one => one >= rough * .999);
    const found = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9; value += step) found.push(Math.round(value * 1e6) / 1e6);
    return found;
  }

  function paintRoot() { LIGHT.forEach((_, i) => document.documentElement.style.setProperty("--curve-" + i, colour(i))); }
  paintRoot();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintRoot);
  return { chart, colour, two, percent };
})();
