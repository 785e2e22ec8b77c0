"use strict";
const CLOCKS = ["host", "device", "trace"];
const FILTERS = ["q", "only", "phase", "stage", "worker"];
const $ = (id) => document.getElementById(id);
let D = null, kids = [], roots = [], opened = new Set(), shown = [], chosen = -1, byKey = new Map();

function el(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Theme: the reader's choice, else the system's.
const wanted = window.matchMedia("(prefers-color-scheme: dark)");
let theme = "";
function paint() { document.documentElement.dataset.theme = theme || (wanted.matches ? "dark" : "light"); }
function flip() { theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; paint(); }
wanted.addEventListener("change", paint);
paint();
$("theme").addEventListener("click", flip);

// Of a tree that was searched all is open but what was folded: there `opened` holds the folded ones.
const searched = () => ["q", "only", "stage"].some((name) => $(name).value && $(name).value !== "all");

// The place in the page is the hash, so that it can be sent to somebody.
function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of FILTERS) $(name).value = given.get(name) || "";
  for (const name of FILTERS) if ($(name).value === "" && given.get(name) && $(name).tagName === "SELECT") $(name).selectedIndex = 0;
  if (given.get("theme")) { theme = given.get("theme"); paint(); }
  const found = byKey.get(given.get("f"));
  opened = new Set();
  start();
  draw();
  if (found !== undefined) choose(found, false);
}
function write() {
  const kept = new URLSearchParams();
  for (const name of FILTERS) if ($(name).value) kept.set(name, $(name).value);
  if (chosen >= 0) kept.set("f", key(D.functions[chosen]));
  history.replaceState(null, "", "#" + kept.toString());
}
const key = (f) => D.files[f.f] + ":" + f.n + ":" + f.l;

function fits(f) {
  const only = $("only").value, q = $("q").value.trim().toLowerCase();
  if (only !== "all" && f.c === "excluded") return false;
  if (only === "untimed" && f.c !== "untimed") return false;
  if (only === "timed" && !f.k.some((word) => word === "direct" || word === "outside" || word === "partial")) return false;
  if (only === "findings" && !f.x) return false;
  if ($("phase").value && !f.p.includes($("phase").value)) return false;
  if ($("stage").value && f.s !== $("stage").value) return false;
  if ($("worker").value && !f.w.includes(D.workers.indexOf($("worker").value))) return false;
  return !q || f.n.toLowerCase().includes(q) || D.files[f.f].toLowerCase().includes(q);
}

function draw() {
  const fit = D.functions.map(fits);
  const below = D.functions.map(() => 0);
  const count = (i) => (below[i] = kids[i].reduce((sum, kid) => sum + count(kid), fit[i] ? 1 : 0));
  roots.forEach(count);
  const filtered = searched();
  shown = [];
  const visit = (i, depth) => {
    if (!below[i]) return;
    const more = kids[i].some((kid) => below[kid]);
    const open = more && opened.has(i) !== filtered;
    shown.push({ i, depth, more, open, fit: fit[i] });
    if (open) kids[i].forEach((kid) => visit(kid, depth + 1));
  };
  roots.forEach((i) => visit(i, 0));
  const rows = shown.map(row);
  $("tree").replaceChildren(...(rows.length ? rows : [el("p", { class: "empty" }, "No hot function fits.")]));
  $("count").textContent = fit.filter(Boolean).length.toLocaleString("en") + " functions";
}

function row({ i, depth, more, open, fit }) {
  const f = D.functions[i];
  const marks = el("span", { class: "marks", title: CLOCKS.map((clock, c) => clock + " " + f.k[c]).join(", ") },
    ...f.k.map((word) => el("span", { class: "dot " + word })));
  const twist = el("span", { class: "twist", "aria-hidden": "true" }, more ? (open ? "▾" : "▸") : "");
  twist.addEventListener("click", (event) => { event.stopPropagation(); fold(i); });
  const kind = f.c === "excluded" ? " left" : fit ? "" : " other";
  const made = el("div", { class: "row" + kind, role: "treeitem", id: "t" + i, "aria-level": depth + 1,
    "aria-selected": i === chosen, style: "padding-left:" + (4 + Math.min(depth, 40) * 14) + "px" },
    twist, marks, el("span", { class: "name" }, f.n), f.s ? el("span", { class: "chip" }, f.s) : null,
    f.o > 1 ? el("span", { class: "chip", title: "so many loops are around it, the engine's own among them" }, f.o + " loops") : null,
    f.g ? el("span", { class: "chip", title: "also captured: its Python is silent at replay" }, "captured") : null,
    f.x ? el("span", { class: "chip bad" }, f.x + (f.x > 1 ? " findings" : " finding")) : null);
  if (more) made.setAttribute("aria-expanded", open);
  made.addEventListener("click", () => choose(i, true));
  return made;
}

function fold(i) {
  if (opened.has(i)) opened.delete(i); else opened.add(i);
  draw();
}

function choose(i, remember) {
  chosen = i;
  const filtered = searched();
  let changed = false;
  for (let up = D.functions[i].u; up >= 0; up = D.functions[up].u) {
    if (opened.has(up) === filtered) { changed = true; if (filtered) opened.delete(up); else opened.add(up); }
  }
  if (changed) draw();
  for (const old of document.querySelectorAll('.row[aria-selected="true"]')) old.setAttribute("aria-selected", "false");
  const here = $("t" + i);
  if (here) { here.setAttribute("aria-selected", "true"); bring(here); $("tree").setAttribute("aria-activedescendant", here.id); }
  show(i);
  if (remember) write();
}

// Only the tree scrolls: the page stays where the reader is.
function bring(row) {
  const tree = $("tree"), top = row.offsetTop;
  if (top < tree.scrollTop || top + row.offsetHeight > tree.scrollTop + tree.clientHeight) tree.scrollTop = top - tree.clientHeight / 3;
}

function link(i) {
  const made = el("a", { href: "#f=" + encodeURIComponent(key(D.functions[i])) }, D.functions[i].n);
  made.addEventListener("click", (event) => { event.preventDefault(); choose(i, true); });
  return made;
}
function joined(items) {
  return items.flatMap((item, place) => (place ? [", ", item] : [item]));
}

function show(i) {
  const f = D.functions[i], file = D.files[f.f];
  const facts = el("dl", {});
  const say = (name, ...said) => { if (said.length) facts.append(el("dt", {}, name), el("dd", {}, ...said)); };
  say("timed", CLOCKS.map((clock, c) => clock + ": " + f.k[c]).join(", ") + (f.r ? " (" + f.r + ")" : ""));
  say("runs in", [f.p.join(" and "), f.s || "no stage", f.b || ""].filter(Boolean).join(", "));
  say("workers", f.w.map((w) => D.workers[w]).join(", ") || "none in particular");
  if (f.g) say("captured", "also while a graph is recorded: at replay its Python does not run");
  if (f.u >= 0) say("called from", link(f.u), f.a ? " line " + f.a : "");
  say("calls", ...joined(kids[i].map(link)));
  const own = (D.brackets[f.f] || []).filter((b) => b[0] <= f.e && b[1] >= f.l);
  say("timers", ...joined(own.map((b) => b[0] + "–" + b[1] + " " + b[2] + (b[3] ? " “" + b[3] + "”" : "") + (b[5] ? " via " + b[5] : "") + (b[4] ? ", " + b[4] : ""))));
  const found = (D.findings[f.f] || []).filter((g) => g[0] >= f.l && g[0] <= f.e);
  for (const g of found) say(g[1], g[0] + ": " + g[3] + " [" + g[2] + "]" + (g[4] ? " " + g[4] : ""));
  $("panel").replaceChildren(el("h3", {}, f.n), el("div", { class: "place" }, D.prefix + file + ":" + f.l), facts,
    el("p", { class: "legend" }, el("span", { class: "l-yes" }, "timed"), el("span", { class: "l-trace" }, "only under a profiler"),
      el("span", { class: "l-no" }, "untimed")), code(f));
  $("panel").scrollTop = 0;
}

function code(f) {
  const piece = (D.source[f.f] || []).find((part) => part[0] <= f.l && f.l < part[0] + part[1].length);
  if (!piece) return el("p", { class: "empty" }, "The source is not in this report.");
  const regions = D.regions[f.f] || [];
  const body = el("tbody", {});
  for (let line = Math.max(piece[0], f.d); line <= f.e; line++) {
    const text = piece[1][line - piece[0]] || "";
    const region = regions.find((r) => r[0] <= line && line <= r[1] && text.trim());
    const mask = region ? region[2] : -1;
    const kind = mask < 0 ? "" : mask & 3 ? "l-yes" : mask & 4 ? "l-trace" : "l-no";
    const said = mask > 0 ? CLOCKS.filter((clock, c) => mask & (1 << c)).join("+") : "";
    body.append(el("tr", { class: kind }, el("td", { class: "n" }, String(line)), el("td", {}, text), el("td", { class: "w" }, said)));
  }
  return el("div", { class: "code", tabindex: "0", "aria-label": "source" }, el("table", {}, body));
}

function move(step) {
  const place = shown.findIndex((entry) => entry.i === chosen);
  const next = shown[Math.min(Math.max(place + step, 0), shown.length - 1)];
  if (next) choose(next.i, true);
}
function side(open) {
  const entry = shown.find((each) => each.i === chosen);
  if (!entry) return;
  if (entry.more && entry.open !== open) { fold(entry.i); choose(entry.i, false); }
  else if (!open && D.functions[entry.i].u >= 0) choose(D.functions[entry.i].u, true);
  else if (open) move(1);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key === "Escape") { $("filters").reset(); after(); event.target.blur(); return; }
  if (typing) { if (event.key === "Enter") { event.preventDefault(); const first = shown.find((entry) => entry.fit); if (first) choose(first.i, true); $("tree").focus(); } return; }
  const keys = { j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), ArrowRight: () => side(true),
    ArrowLeft: () => side(false), "/": () => $("q").focus(), d: flip,
    u: () => { $("only").value = $("only").value === "untimed" ? "" : "untimed"; after(); },
    Enter: () => { if (document.activeElement === $("tree") && chosen >= 0) $("panel").scrollIntoView({ block: "nearest" }); } };
  const arrow = event.key.startsWith("Arrow");
  if (keys[event.key] && !(arrow && document.activeElement !== $("tree"))) { if (event.key !== "Enter") event.preventDefault(); keys[event.key](); }
});
function after() { opened = new Set(); start(); draw(); write(); }
function start() { if (!searched()) roots.forEach((i) => opened.add(i)); }
$("filters").addEventListener("input", after);
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("filters").addEventListener("reset", () => setTimeout(after));
window.addEventListener("hashchange", () => { read(); $("path-title").scrollIntoView(); });

async function load() {
  const bytes = Uint8Array.from(atob($("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  D = await new Response(stream).json();
  kids = D.functions.map(() => []);
  D.functions.forEach((f, i) => { byKey.set(key(f), i); if (f.u < 0) roots.push(i); else kids[f.u].push(i); });
  for (const list of kids) list.sort((a, b) => D.functions[a].a - D.functions[b].a || a - b);
  read();
  document.body.dataset.ready = "yes";
}
load();
