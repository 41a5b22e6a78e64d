"use strict";
// The page's script: it logs in, sends forms, and puts what the server says has changed in
// place without disturbing what a person has selected, opened or typed. It decides nothing.

const said = document.getElementById("said");
const stale = document.getElementById("stale");
let saidUntil;

// say shows what came of an action, for a while.
function say(text) {
  said.textContent = text;
  clearTimeout(saidUntil);
  saidUntil = setTimeout(() => { said.textContent = ""; }, 8000);
}

// login takes the code out of the address, where it does not stay, and uses it.
async function login() {
  const code = location.hash.slice(1);
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("/login", { method: "POST", body: new URLSearchParams({ code }) });
  if (answer.ok) location.reload();
  else said.textContent = await answer.text();
}

// morph makes one node like another, touching only what differs: so focus, selection,
// typed text and open details stay.
function morph(from, to) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName || (from.id || "") !== (to.id || "")) {
    from.replaceWith(to);
    return;
  }
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  if (from.nodeName === "TIME" && from.dateTime === to.dateTime) return;
  const typed = ["INPUT", "TEXTAREA", "SELECT"].includes(from.nodeName);
  for (const a of [...from.attributes]) {
    if (!to.hasAttribute(a.name) && !(a.name === "open" && from.nodeName === "DETAILS") && a.name !== "disabled") from.removeAttribute(a.name);
  }
  for (const a of to.attributes) {
    if (typed && a.name === "value") continue;
    if (from.getAttribute(a.name) !== a.value) from.setAttribute(a.name, a.value);
  }
  if (from.nodeName === "TEXTAREA") return;
  const known = new Map();
  for (const c of from.children) if (c.id) known.set(c.id, c);
  let at = from.firstChild;
  for (const want of [...to.childNodes]) {
    const same = want.id && known.get(want.id);
    if (same) {
      if (same !== at) from.insertBefore(same, at); else at = at.nextSibling;
      known.delete(want.id);
      morph(same, want);
    } else if (at && !(at.id && known.has(at.id)) && at.nodeType === want.nodeType && at.nodeName === want.nodeName && !want.id && !at.id) {
      const next = at.nextSibling;
      morph(at, want);
      at = next;
    } else {
      from.insertBefore(want, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function parse(html) {
  const t = document.createElement("template");
  t.innerHTML = html;
  return t.content;
}

// ago turns times into how long ago they were.
function ago() {
  const now = Date.now();
  for (const t of document.querySelectorAll("time[data-ago]")) {
    const s = Math.max(0, Math.round((now - Date.parse(t.dateTime)) / 1000));
    const text = s < 60 ? s + "s" : s < 3600 ? Math.floor(s / 60) + "m " + (s % 60) + "s" : s < 86400 ? Math.floor(s / 3600) + "h " + Math.floor(s % 3600 / 60) + "m" : Math.floor(s / 86400) + "d";
    if (t.firstChild && t.firstChild.data !== text) t.firstChild.data = text;
    if (!t.title) t.title = new Date(t.dateTime).toLocaleString();
  }
}

// counted shows in the title how many things need the person: a glance at the tab is enough.
const title = document.title;
function counted() {
  const n = document.querySelector("[data-count]")?.dataset.count;
  const want = n && n !== "0" ? "(" + n + ") " + title : title;
  if (document.title !== want) document.title = want;
}
counted();

let stream, heard = 0, wait = 250, again;

function setStale(text) {
  if (stale.textContent !== text) stale.textContent = text;
  document.body.classList.toggle("stale", text !== "");
}

// follow opens the stream of changes. A page that nobody sees has none.
function follow() {
  clearTimeout(again);
  if (stream) stream.close();
  if (document.hidden) return;
  const log = document.getElementById("log");
  if (log) document.getElementById("live").replaceChildren(); // it comes anew
  stream = new EventSource(document.body.dataset.live + (log ? "?after=" + log.dataset.last : ""));
  heard = Date.now();
  const on = (kind, f) => stream.addEventListener(kind, (e) => {
    heard = Date.now();
    wait = 250;
    setStale("");
    f(JSON.parse(e.data));
  });
  on("beat", () => {});
  on("part", (html) => {
    const to = parse(html).firstElementChild, from = document.getElementById(to.id);
    if (from) morph(from, to);
    ago();
    counted();
  });
  on("entries", addEntries);
  on("text", addText);
  on("ended", endText);
  on("poll", (ms) => { stream.close(); heard = Infinity; again = setTimeout(follow, ms); });
  on("logout", () => { stream.close(); location.reload(); });
  stream.onerror = lost;
}

// lost says that the page is stale, and tries again.
function lost() {
  stream.close();
  heard = Infinity;
  setStale("Not connected: what you see is old");
  again = setTimeout(follow, wait);
  wait = Math.min(wait * 1.5, 3000);
}

// atEnd keeps the end of a chat in sight while f changes it, if it was in sight.
function atEnd(f) {
  const near = innerHeight + scrollY > document.documentElement.scrollHeight - 120;
  f();
  if (near) scrollTo(0, document.documentElement.scrollHeight);
  return near;
}

const mostEntries = 400;

// addEntries adds entries at the end. One that is there is not added again.
function addEntries({ html, last, requests }) {
  const log = document.getElementById("log");
  if (document.getElementById("newer")) return; // what is shown ends before them
  const near = atEnd(() => {
    for (const e of [...parse(html).children]) if (!document.getElementById(e.id)) log.append(e);
    log.dataset.last = last;
    requests.forEach(endText);
  });
  const all = log.querySelectorAll(".entry");
  if (!near || all.length <= mostEntries) return;
  for (const e of [...all].slice(0, all.length - mostEntries / 2)) e.remove();
  showOlder(log.querySelector(".entry").id.slice(2));
}

function showOlder(before) {
  document.getElementById("older")?.remove();
  const p = parse('<p id="older"><button type="button">Show older</button></p>').firstChild;
  p.firstChild.dataset.older = before;
  document.getElementById("log").prepend(p);
}

// addText shows live text at the end of the chat, until its entry comes.
function addText({ request, agent, kind, call, again, text }) {
  atEnd(() => {
    const live = document.getElementById("live"), id = "live-" + request;
    let box = document.getElementById(id);
    if (!box) {
      box = parse('<article class="msg"><p class="by"><strong class="who"></strong> <span class="dim">…</span></p></article>').firstChild;
      box.id = id;
      box.querySelector(".who").textContent = "@" + agent;
      live.append(box);
    }
    const part = kind + "-" + call;
    let at = [...box.children].find((c) => c.dataset.part === part);
    if (!at) {
      at = document.createElement(kind === "output" ? "pre" : "div");
      at.dataset.part = part;
      at.className = "stream " + kind;
      at.append("");
      box.append(at);
    }
    if (again) at.firstChild.data = text; else at.firstChild.appendData(text);
    const over = at.firstChild.length - 20000;
    if (over > 0) at.firstChild.deleteData(0, over);
    if (kind === "output") at.scrollTop = at.scrollHeight;
  });
}

function endText(request) { document.getElementById("live-" + request)?.remove(); }

document.addEventListener("click", async (e) => {
  const before = e.target.dataset.older, log = document.getElementById("log");
  if (!before) return;
  e.target.disabled = true;
  const answer = await fetch("/chats/" + encodeURIComponent(log.dataset.name) + "/older?before=" + before);
  if (!answer.ok) { e.target.disabled = false; say(await answer.text()); return; }
  const first = log.querySelector(".entry"), top = first.getBoundingClientRect().top;
  document.getElementById("older").remove();
  log.prepend(parse(await answer.text()));
  const all = log.querySelectorAll(".entry");
  for (const e of [...all].slice(mostEntries)) e.remove();
  if (all.length > mostEntries && !document.getElementById("newer")) log.append(parse('<p id="newer"><a href="">To the latest entries</a></p>'));
  scrollBy(0, first.getBoundingClientRect().top - top);
});

// The line that a person writes: Enter sends, Shift and Enter begins a line, and @ offers
// the names of agents.
const text = document.getElementById("text");
if (text) {
  const names = document.getElementById("names"), form = text.form, agents = form.dataset.agents.split(" ").filter(Boolean);
  let chosen = -1;
  const word = () => /(^|\s)@([\w-]*)$/.exec(text.value.slice(0, text.selectionStart));
  const close = () => { names.hidden = true; chosen = -1; text.removeAttribute("aria-activedescendant"); };
  const choose = (n) => {
    chosen = (n + names.children.length) % names.children.length;
    [...names.children].forEach((c, i) => c.setAttribute("aria-selected", String(i === chosen)));
    text.setAttribute("aria-activedescendant", names.children[chosen].id);
  };
  const take = (name) => {
    const m = word(), end = text.selectionStart;
    if (m) text.setRangeText("@" + name + " ", end - m[2].length - 1, end, "end");
    close();
  };
  text.addEventListener("input", () => {
    const m = word(), fit = m ? agents.filter((a) => a.startsWith(m[2].toLowerCase())) : [];
    if (!fit.length) { close(); return; }
    names.replaceChildren(...fit.slice(0, 8).map((a) => {
      const o = document.createElement("li");
      o.id = "name-" + a;
      o.setAttribute("role", "option");
      o.textContent = "@" + a;
      o.addEventListener("mousedown", (e) => { e.preventDefault(); take(a); });
      return o;
    }));
    names.hidden = false;
    choose(0);
  });
  text.addEventListener("blur", close);
  text.addEventListener("keydown", (e) => {
    if (!names.hidden) {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); choose(chosen + (e.key === "ArrowDown" ? 1 : -1)); return; }
      if (e.key === "Enter" || e.key === "Tab") { e.preventDefault(); take(names.children[chosen].id.slice(5)); return; }
      if (e.key === "Escape") { close(); return; }
    }
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); form.requestSubmit(); }
  });
  form.addEventListener("sent", () => { text.value = ""; form.elements.file.value = ""; scrollTo(0, document.documentElement.scrollHeight); });
  scrollTo(0, document.documentElement.scrollHeight);
}

if ("live" in document.body.dataset) {
  follow();
  setInterval(() => { if (!document.hidden && Date.now() - heard > 2800) lost(); }, 500);
  document.addEventListener("visibilitychange", follow);
}
if ("login" in document.body.dataset) login();
addEventListener("hashchange", login);
setInterval(ago, 1000);
ago();

// A form that changes something is sent with a key, which stays the same until there is an
// answer: so a second click, or a second try, changes nothing.
const sending = new WeakMap();

document.addEventListener("submit", async (e) => {
  const form = e.target;
  if (!("post" in form.dataset)) return;
  e.preventDefault();
  const data = new FormData(form, e.submitter), fields = [...data];
  const body = fields.some(([, v]) => v.name) ? data : new URLSearchParams(fields.filter(([, v]) => typeof v === "string"));
  const text = JSON.stringify(fields.map(([k, v]) => typeof v === "string" ? [k, v] : [k, v.name, v.size, v.lastModified]));
  let try_ = sending.get(form);
  if (try_ && try_.busy) return;
  if (!try_ || try_.text !== text) try_ = { text, key: crypto.randomUUID() };
  try_.busy = true;
  sending.set(form, try_);
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { "Idempotency-Key": try_.key } });
    const told = await answer.text();
    sending.delete(form);
    if (answer.ok && form.dataset.then) { location.href = form.dataset.then + encodeURIComponent(told); return; }
    if (told) say(told);
    if (answer.status === 401) location.reload();
    if (answer.ok && "reset" in form.dataset) form.reset();
    if (answer.ok) form.dispatchEvent(new CustomEvent("sent", { bubbles: true }));
  } catch {
    try_.busy = false;
    say("Not connected. Try again: what you send takes effect once.");
  }
});
