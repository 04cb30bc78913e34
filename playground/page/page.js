// The page around Lockgate. What it shows of a policy or a session is set as text or as a picture, never as markup: a link may come from
// anybody.
"use strict";

const PATIENCE_MS = 10000; // for one answer; then Lockgate is started anew
const PAUSE_MS = 120; // after the last key
const FINDINGS = "https://github.com/lockgate/lockgate/blob/main/docs/findings/";

const at = (id) => document.getElementById(id);
const make = (name, className, text) => {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};

// Lockgate in a worker. Only the answer to the newest question of its kind counts.

let module, worker, clock;
let asked = 0;
const waiting = new Map();

function start() {
  const script = new Blob([at("worker").textContent], { type: "text/javascript" });
  const address = URL.createObjectURL(script);
  worker = new Worker(address);
  worker.onmessage = ({ data }) => {
    // After a break the memory of Lockgate is in disorder.
    if (data.broken) return giveUp("Lockgate broke off over this text. Please report it.");
    const told = waiting.get(data.number);
    waiting.delete(data.number);
    watch();
    if (told) told(data.answer);
  };
  worker.postMessage({ module });
}

function watch() {
  clearTimeout(clock);
  if (waiting.size) clock = setTimeout(() => giveUp("This takes too long for a page; `lockgate verify` has more patience."), PATIENCE_MS);
}

function startAnew() {
  clearTimeout(clock);
  worker.terminate();
  waiting.clear();
  start();
}

function giveUp(why) {
  startAnew();
  tell(why);
}

const ask = (question) =>
  new Promise((resolve) => {
    asked += 1;
    waiting.set(asked, resolve);
    worker.postMessage({ number: asked, question });
    watch();
  });

// What is shown.

const tell = (text) => {
  at("summary").textContent = text;
};
const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

function showFindings(told) {
  if (told.error) return tell(told.error);
  const count = (severity) => told.findings.filter((it) => it.severity === severity).length;
  const parts = ["error", "warning", "note"].filter((it) => it === "error" || count(it)).map((it) => counted(count(it), it));
  const size = told.policy ? `${counted(told.rules, "rule")}, ${told.exact ? "" : "at least "}${counted(told.states, "state")}: ` : "";
  tell(size + parts.join(", "));
  at("findings").replaceChildren(...told.findings.map(finding));
  at("claims").replaceChildren(...(told.claims || []).map(claim));
}

function finding(it) {
  const item = make("li");
  const head = make("p");
  const code = make("a", "", it.code);
  code.href = `${FINDINGS}${encodeURIComponent(it.code)}.md`;
  code.rel = "noreferrer";
  head.append(make("span", `badge ${it.severity}`, it.severity), " ", code, " ", lineButton(it.where[0].line));
  item.append(head, make("p", "", it.message));
  if (it.remedy) item.append(make("p", "quiet", `try: ${it.remedy}`));
  if (it.trace.length) item.append(trace(it.trace));
  return item;
}

function claim(it) {
  const word = it.holds === true ? "proved" : it.holds === false ? "false" : "undecided";
  const item = make("li");
  const head = make("p");
  head.append(make("span", `badge ${word}`, word), " ", make("code", "", it.text));
  item.append(head);
  if (it.undecided) item.append(make("p", "quiet", it.undecided));
  return item;
}

function trace(steps) {
  const list = make("ol", "steps");
  for (const step of steps) {
    const item = make("li");
    item.append(make("code", "", step.tool), " ", make("span", `badge ${step.verdict}`, step.verdict));
    if (step.times > 1) item.append(` ${step.times} times`);
    list.append(item);
  }
  return list;
}

function lineButton(line) {
  const button = make("button", "place", `line ${line}`);
  button.type = "button";
  button.onclick = () => select(at("policy"), line);
  return button;
}

function select(area, line) {
  const lines = area.value.split("\n");
  const from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(from, from + (lines[line - 1] || "").length);
}

function showSession(told) {
  if (told.error) return at("verdicts").replaceChildren(make("li", "", told.error));
  at("verdicts").replaceChildren(...told.steps.map(step));
  at("pictures").replaceChildren(...told.pictures.map(picture));
  at("more").hidden = !told.more;
  at("more").textContent = `${counted(told.more, "more net")} not drawn`;
}

function step(it) {
  const item = make("li");
  const head = make("p");
  if (it.mistake) head.append(make("span", "badge mistake", "?"), ` line ${it.line}: ${it.mistake}`);
  else if (it.note) head.append(it.note);
  else {
    head.append(make("span", `badge ${it.answer.verdict}`, it.answer.verdict));
    if (it.then) head.append(" → ", make("span", `badge ${it.then.verdict}`, it.then.verdict));
    head.append(" ", make("code", "", it.tool));
    if (it.input) head.append(" ", make("code", "", it.input.command ?? JSON.stringify(it.input)));
  }
  item.append(head);
  if (it.sentence) item.append(make("p", "", it.sentence));
  return item;
}

// A picture is drawn as an image, in which no script could run whatever a name says.
function picture(it) {
  const figure = make("figure");
  const image = make("img");
  image.alt = `net ${it.name}`;
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(it.svg)}`;
  const caption = make("figcaption");
  caption.append(make("code", "", it.text || it.name));
  figure.append(image, caption);
  return figure;
}

// What is written travels behind the `#` of the address, which browsers send to nobody.

const toText = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const toBytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function remember() {
  const written = JSON.stringify({ policy: at("policy").value, session: at("session").value });
  const text = toText(new TextEncoder().encode(written)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  history.replaceState(null, "", `#${text}`);
}

function recall() {
  try {
    const text = location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/");
    const { policy, session } = JSON.parse(new TextDecoder().decode(toBytes(text)));
    return { policy: String(policy), session: String(session) };
  } catch {
    return null;
  }
}

// What is done.

let turn = 0;
let pause;

async function judge() {
  turn += 1;
  const mine = turn;
  const [policy, session] = [at("policy").value, at("session").value];
  remember();
  // What is still worked on is about a text that is gone.
  if (waiting.size) startAnew();
  // Verdicts come first: they take a moment, and a proof may take long.
  const played = ask({ do: "play", policy, session });
  const verified = ask({ do: "verify", policy });
  const told = await played;
  if (mine === turn) showSession(told);
  const proved = await verified;
  if (mine === turn) showFindings(proved);
}

function write({ policy, session }) {
  at("policy").value = policy;
  at("session").value = session;
  judge();
}

const soon = () => {
  clearTimeout(pause);
  pause = setTimeout(judge, PAUSE_MS);
};

async function open() {
  const examples = JSON.parse(at("examples").textContent);
  examples.forEach((it, number) => at("example").append(new Option(it.name, number)));
  try {
    module = await WebAssembly.compile(toBytes(at("engine").textContent.trim()));
  } catch (error) {
    return tell(`Lockgate cannot run in this browser: ${error.message}`);
  }
  start();
  at("policy").oninput = soon;
  at("session").oninput = soon;
  at("example").onchange = () => at("example").value && write(examples[at("example").value]);
  at("share").onclick = async () => {
    remember();
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    at("copied").textContent = copied ? "Copied" : "Copy the address of this page";
  };
  addEventListener("hashchange", () => {
    const shared = recall();
    if (shared) write(shared);
  });
  write(recall() || examples[0]);
}

open();
