// What is on the page, kept in its address: #try?model=ner&text=… opens the same again.

const LONGEST = 4000; // characters of a text that go into the address

export function read() {
  const [panel, query = ""] = decodeURI(location.hash.slice(1)) === "main" ? [""] : location.hash.slice(1).split("?");
  return { panel, fields: Object.fromEntries(new URLSearchParams(query)) };
}

export function write(panel, fields) {
  const kept = Object.entries(fields).filter(([, value]) => value !== "" && value !== null && value !== undefined && String(value).length <= LONGEST);
  const query = new URLSearchParams(kept).toString();
  history.replaceState(null, "", `#${panel}${query ? `?${query}` : ""}`);
}
