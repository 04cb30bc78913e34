// The script of the dashboard. Pages work without it: it asks for the same page again when something has happened, and shows
// the parts that differ. It makes no markup of its own.
"use strict";

const key = (location.pathname.match(/^\/d\/([0-9a-f]+)\//) || [])[1];

// The key is half of a login and is kept for this origin alone, so that the first page finds the way back.
if (key) {
  localStorage.setItem("lockgate", key);
} else if (location.pathname === "/") {
  const known = localStorage.getItem("lockgate");
  if (location.search !== "") localStorage.removeItem("lockgate");
  else if (known) location.replace(`/d/${known}/now`);
}

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function dress(root) {
  for (const time of all("time[data-ms]", root)) {
    const at = new Date(Number(time.dataset.ms));
    const isToday = at.toDateString() === new Date().toDateString();
    time.title = time.dateTime;
    time.textContent = isToday ? at.toLocaleTimeString() : at.toLocaleString();
  }
}

function countDown() {
  for (const left of all("[data-until]")) {
    const seconds = Math.round((Number(left.dataset.until) - Date.now()) / 1000);
    left.textContent =
      seconds <= 0 ? "time is over" : seconds < 120 ? `${seconds} s left` : `${Math.round(seconds / 60)} min left`;
    if (seconds > 0 || left.dataset.isOver) continue;
    left.dataset.isOver = "yes";
    refresh();
  }
}

// Cards keep what a person is typing: one that is still there stays as it is.
function mergeCards(here, fresh) {
  const wanted = new Set([...fresh.children].map((card) => card.id));
  for (const card of [...here.children]) if (!wanted.has(card.id)) card.remove();
  for (const card of [...fresh.children]) {
    if (document.getElementById(card.id)) continue;
    card.classList.add("new");
    here.append(card);
  }
}

// Where the focus is inside of a part, and how it comes back there when the part is another one.
const reachable = "a, button, summary, input, [tabindex]";
function keepFocus(part) {
  const active = document.activeElement;
  const home = part.contains(active) ? active.closest("[id]") : null;
  if (!home) return () => {};
  const place = all(reachable, home).indexOf(active);
  return () => {
    const again = document.getElementById(home.id);
    if (again) (place < 0 ? again : all(reachable, again)[place])?.focus({ preventScroll: true });
  };
}

function isBeingRead(part) {
  const selection = getSelection();
  return !selection.isCollapsed && part.contains(selection.anchorNode);
}

function show(fresh) {
  document.title = fresh.title;
  dress(fresh);
  for (const here of all("[data-live]")) {
    const part = fresh.getElementById(here.id);
    if (!part) continue;
    if ("keyed" in here.dataset) mergeCards(here, part);
    else if (here.innerHTML !== part.innerHTML && !isBeingRead(here)) {
      const giveBack = keepFocus(here);
      const open = all("details[open]", here).map((details) => details.closest("[id]")?.id);
      here.replaceChildren(...part.childNodes);
      for (const id of open) id && document.getElementById(id)?.querySelector("details")?.setAttribute("open", "");
      giveBack();
    }
  }
  countDown();
}

async function load(address, options) {
  const answer = await fetch(address, { cache: "no-store", redirect: "manual", ...options });
  if (answer.type === "opaqueredirect") {
    location.assign("/?ended");
    throw new Error("signed out");
  }
  return { status: answer.status, page: new DOMParser().parseFromString(await answer.text(), "text/html") };
}

// Many events are one look: at once, and then at most every half second.
let isLoading = false;
let isStale = false;
async function refresh() {
  if (isLoading) {
    isStale = true;
    return;
  }
  isLoading = true;
  isStale = false;
  try {
    const { status, page } = await load(location.href);
    if (status === 200) show(page);
  } catch {
    // The next event tries again.
  }
  setTimeout(() => {
    isLoading = false;
    if (isStale) refresh();
  }, 500);
}

function happened({ session }) {
  const only = document.querySelector("[data-session]")?.dataset.session;
  if (only === undefined || session === undefined || session === null || session === only) refresh();
}

function tell(isLive) {
  const sign = document.getElementById("live");
  if (!sign) return;
  sign.hidden = false;
  sign.classList.toggle("lost", !isLive);
  sign.textContent = isLive ? "live" : "not connected";
}

// One tab of this login holds the stream, because a browser has few connections to a server; the others hear from it. When it is
// closed, the next one takes over from the last record that it has heard of.
function follow() {
  const channel = new BroadcastChannel(`lockgate-${key}`);
  let last = null;
  channel.onmessage = ({ data }) => {
    if (data.n) last = data.n;
    if ("isLive" in data) tell(data.isLive);
    else happened(data);
  };
  const lead = () =>
    new Promise(() => {
      const say = (data) => {
        channel.postMessage(data);
        if ("isLive" in data) tell(data.isLive);
        else happened(data);
      };
      const open = () => {
        const source = new EventSource(last === null ? "live" : `live?after=${last}`);
        source.onopen = () => {
          say({ isLive: true });
          // What happened before the stream was there is shown now.
          say({ session: null });
        };
        source.onerror = () => {
          say({ isLive: false });
          if (source.readyState !== EventSource.CLOSED) return;
          // The server has refused it. A login that has ended is noticed by asking for the page.
          say({ session: null });
          setTimeout(open, 3000);
        };
        const heard = (event) => {
          last = event.lastEventId || last;
          say({ n: last, session: JSON.parse(event.data).entry?.session ?? null });
        };
        for (const kind of ["call", "answer", "result", "duplicate", "lapsed", "operator"]) {
          source.addEventListener(kind, heard);
        }
        source.addEventListener("resync", () => say({ session: null }));
      };
      open();
    });
  tell(true);
  if (navigator.locks) navigator.locks.request(`lockgate-${key}`, lead);
  else lead();
}

// Findings while one writes: half a second after the last key.
function checkDrafts(form) {
  const results = document.getElementById("results");
  let timer = null;
  let round = 0;
  const check = async () => {
    const own = ++round;
    results.classList.add("busy");
    try {
      const { status, page } = await load(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      if (own !== round) return;
      // Another check is running: this one waits for it.
      if (status === 429) return void (timer = setTimeout(check, 1000));
      const fresh = page.getElementById("results") || page.getElementById("main");
      results.replaceChildren(...fresh.childNodes);
    } catch {
      return;
    } finally {
      if (own === round) results.classList.remove("busy");
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, 500);
  });
}

dress(document);
countDown();
setInterval(countDown, 1000);
if (key) {
  if (document.querySelector("[data-live]")) follow();
  all("form[data-check]").forEach(checkDrafts);
}
