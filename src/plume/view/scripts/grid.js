"use strict";
// A cell for each head of each layer: what the views of switching off and of importance share.
const headGrid = (() => {
  const { make } = plume;

  /** values: a list of numbers a layer. `signed` shades two ways, `floor` is the least that counts as full. Returns again(values), select(layer, head). */
  function grid(parent, { values, signed = false, label, chosen, tell, floor = 1e-12 }) {
    const state = { values, at: null, over: null };
    let shape = null;
    const size = () => Math.max(...state.values.map(layer => layer.length));
    const canvas = plume.canvas(parent, 40, paint, { "aria-label": label, tabindex: chosen ? "0" : null });
    function paint(context, width) {
      const wide = size(), side = Math.min(40, Math.max(16, (width - 28) / wide)), high = Math.min(side, 30), tall = state.values.length * high + 22;
      if (Math.abs(canvas.element.clientHeight - tall) > 1) { canvas.again(tall); return; }
      shape = { side, high };
      const top = Math.max(floor, ...state.values.flat().map(Math.abs));
      context.font = "12px system-ui, sans-serif"; context.textBaseline = "middle"; context.fillStyle = plume.colour("--quiet");
      context.textAlign = "center";
      for (let head = 0; head < wide; head++) if (side >= 20 || head % 2 === 0) context.fillText(String(head + 1), 28 + (head + .5) * side, 8);
      context.textAlign = "right";
      state.values.forEach((layer, number) => {
        context.globalAlpha = 1; context.fillStyle = plume.colour("--quiet"); context.fillText(String(number + 1), 20, 18 + (number + .5) * high);
        layer.forEach((value, head) => {
          const x = 28 + head * side, y = 18 + number * high;
          context.globalAlpha = 1; context.fillStyle = plume.colour("--stripe"); context.fillRect(x, y, side - 2, high - 2);
          context.globalAlpha = Math.min(1, Math.abs(value) / top) ** .8; context.fillStyle = plume.colour(signed && value < 0 ? "--chosen" : "--near"); context.fillRect(x, y, side - 2, high - 2);
          const mark = same(state.at, [number, head]) ? "--ink" : same(state.over, [number, head]) ? "--dot" : null;
          if (mark) { context.globalAlpha = 1; context.strokeStyle = plume.colour(mark); context.lineWidth = 2; context.strokeRect(x, y, side - 2, high - 2); }
        });
      });
      context.globalAlpha = 1;
    }
    const same = (one, other) => one && other && one[0] === other[0] && one[1] === other[1];
    function under(event) {
      if (!shape) return null;
      const box = canvas.element.getBoundingClientRect(), head = Math.floor((event.clientX - box.left - 28) / shape.side), layer = Math.floor((event.clientY - box.top - 18) / shape.high);
      return layer >= 0 && layer < state.values.length && head >= 0 && head < state.values[layer].length ? [layer, head] : null;
    }
    canvas.element.addEventListener("pointermove", event => {
      const found = under(event);
      if (!same(found, state.over) && (found || state.over)) { state.over = found; canvas.again(); }
      plume.tip(event, found ? tell(...found, state.values[found[0]][found[1]]) : null);
    });
    canvas.element.addEventListener("pointerleave", event => { state.over = null; plume.tip(event, null); canvas.again(); });
    function select(layer, head) { state.at = [layer, head]; canvas.again(); chosen?.(layer, head); }
    if (chosen) {
      canvas.element.style.cursor = "pointer";
      canvas.element.addEventListener("click", event => { const found = under(event); if (found) select(...found); });
      canvas.element.addEventListener("keydown", event => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step) return;
        event.preventDefault();
        const [layer, head] = state.at ?? [0, 0], to = Math.max(0, Math.min(state.values.length - 1, layer + step[0]));
        select(to, Math.max(0, Math.min(state.values[to].length - 1, head + step[1])));
      });
    }
    return { again: other => { state.values = other; canvas.again(); }, select, element: canvas.element };
  }
  const shortened = value => (Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= .01 || value === 0 ? value.toFixed(3) : value.toExponential(1)).replaceAll("-", "−");
  return { grid, shortened };
})();
