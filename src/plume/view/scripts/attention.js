"use strict";
// What the views of attention share: bytes back to shares, colours of heads, choices, and canvases that scroll.
const attention = (() => {
  const { make } = plume;
  const share = new Float32Array(256).map((_, byte) => (byte / 255) ** 2);
  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;

  /** The colour of a head among so many, as hue, saturation and lightness. */
  function colour(head, heads, alpha = 1) {
    const hue = Math.round(head * 360 / Math.max(heads, 1) + 210) % 360, even = head % 2;
    const light = dark() ? (even ? 72 : 62) : (even ? 36 : 46);
    return `hsl(${hue} ${dark() ? 75 : 65}% ${light}% / ${alpha})`;
  }

  /** The bytes of a head, row by row. */
  const bytes = (map, layer, head) => plume.array(map.layers[layer][head].p);

  /** A title for each model where there are several, and a card to draw in. */
  function beside(root, data, draw) {
    const several = data.models.length > 1, grid = make("div", { class: several ? "beside" : "" });
    root.append(grid);
    data.models.forEach((model, number) => {
      const card = make("div", { class: "card" }, several ? make("h3", {}, model.name) : null);
      grid.append(card);
      draw(card, model, number);
    });
  }

  /** Which map is shown, where there are several. */
  function placeChoice(model, say, changed) {
    if (model.maps.length < 2) return null;
    return plume.choice(say("attention"), model.maps.map((map, i) => [i, say("place_" + map.place)]), 0, changed);
  }

  const layerChoice = (map, say, layer, changed) => plume.choice(say("layer"), map.layers.map((_, i) => [i, String(i + 1)]), layer, changed);

  /** Rows and columns of a pair: of the first or second text; special tokens stay where all are shown. */
  const PARTS = { every: null, a_a: [0, 0], a_b: [0, 1], b_a: [1, 0], b_b: [1, 1] };
  function partChoice(map, say, value, changed) {
    if (!map.rowText.includes(1)) return null;
    return plume.choice(say("texts"), Object.keys(PARTS).map(key => [key, say(key)]), value, changed);
  }
  function part(map, key) {
    const wanted = PARTS[key], all = list => list.map((_, i) => i);
    if (!wanted) return { rows: all(map.rows), columns: all(map.columns) };
    const of = (texts, text) => texts.flatMap((one, i) => one === text ? [i] : []);
    return { rows: of(map.rowText, wanted[0]), columns: of(map.columnText, wanted[1]) };
  }

  /** A canvas as tall as its content, or one that scrolls and paints only what is seen: paint(context, width, height, top). */
  function tall(parent, paint, attributes) {
    const held = make("div", { class: "held" }), room = make("div", {}, held), scroller = make("div", { class: "scroller" }, room);
    parent.append(scroller);
    held.style.cssText = "position:sticky;top:0";
    const canvas = plume.canvas(held, 10, (context, width, height) => paint(context, width, height, scroller.scrollTop), attributes);
    scroller.addEventListener("scroll", () => canvas.again());
    function size(total, most = Math.max(320, Math.min(620, innerHeight * .72))) {
      const high = Math.min(total, Math.round(most));
      scroller.style.cssText = `overflow-y:${total > high ? "auto" : "hidden"};overflow-x:hidden;height:${high}px`;
      room.style.height = total + "px";
      held.style.height = high + "px";
      canvas.again(high);
    }
    return { element: canvas.element, scroller, again: () => canvas.again(), size };
  }

  /** Text that fits, its end cut where it does not. */
  function fitted(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let end = Math.max(1, Math.floor(text.length * width / context.measureText(text).width));
    while (end > 1 && context.measureText(text.slice(0, end) + "…").width > width) end--;
    return text.slice(0, end) + "…";
  }

  const FONT = '13px system-ui, -apple-system, "Segoe UI", "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif';
  const percent = value => value >= .0995 ? (100 * value).toFixed(0) + "%" : (100 * value).toFixed(value >= .00095 ? 1 : 2) + "%";
  return { share, colour, bytes, beside, placeChoice, layerChoice, partChoice, part, tall, fitted, FONT, percent };
})();
