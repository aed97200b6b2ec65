// What the server is asked, and what it says; errors in words.
import { t } from "./words.js";

const KEY = "plume-key";
export const key = () => sessionStorage.getItem(KEY) ?? "";
export function setKey(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

/** An answer that is none, as the page says it. */
export class Refused extends Error {
  constructor(status, { message, code, param }) {
    super(message);
    Object.assign(this, { status, code, param });
  }
  get title() { return t(`error_${this.code}`, null) ?? t(`error_${this.status}`, null) ?? t("error"); }
}

async function sent(path, body, signal) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  if (key()) headers.Authorization = `Bearer ${key()}`;
  let answer;
  try {
    answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { message: t("unreachable") });
  }
  if (answer.ok) return answer;
  let said = {};
  try { said = (await answer.json()).error ?? {}; } catch { /* not ours: a proxy's page */ }
  throw new Refused(answer.status, { message: answer.statusText, ...said });
}

/** JSON for JSON; without a body it is a GET. */
export const ask = async (path, body, signal) => (await sent(path, body, signal)).json();
export const askText = async (path, body, signal) => (await sent(path, body, signal)).text();

/** Server-sent events, one at a time, until [DONE]. */
export async function* events(path, body, signal) {
  const reader = (await sent(path, { ...body, stream: true }, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += value ?? "";
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = done ? "" : blocks.pop();
    for (const block of blocks) {
      const data = block.split(/\r?\n/).filter(line => line.startsWith("data:")).map(line => line.slice(5).trim()).join("\n");
      if (data === "[DONE]") return;
      if (!data) continue;
      const event = JSON.parse(data);
      if (event.error) throw new Refused(event.error.status ?? 500, event.error);
      yield event;
    }
    if (done) return;
  }
}
