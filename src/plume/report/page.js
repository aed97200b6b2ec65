"use strict";
// The page is whole without this: it only makes tables sortable.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button"; button.className = "sort"; button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const body of table.tBodies) sort(body, column, down ? -1 : 1);
    });
  });
}
function sort(body, column, way) {
  const rows = [...body.rows].filter(row => !row.classList.contains("group"));
  const key = row => { const cell = row.cells[column], value = cell.dataset.sort; return value === undefined ? cell.textContent.trim() : Number(value); };
  const order = (a, b) => {
    const one = key(a), other = key(b);
    if (typeof one === "number" && typeof other === "number") return way * (one - other);
    if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;  // what has no number goes last
    return -way * one.localeCompare(other);
  };
  body.append(...rows.sort(order));
}
