"use strict";
// Every text is set as text, never as markup: names come from packages.
const data = JSON.parse(document.getElementById("data").textContent);
const packages = new Map(data.packages.map((one) => [one.source, one]));
const nodes = new Map([...document.querySelectorAll(".node")].map((node) => [node.dataset.key, node]));
const paths = [...document.querySelectorAll(".edges path")];
const search = document.getElementById("search");
const panel = document.getElementById("panel");
const count = document.getElementById("count");
const picture = document.querySelector("svg.graph");
const main = document.querySelector("main");
const UNCHANGED = "unchanged";
let selected = null;
let current = null;

const needs = new Map([...packages.keys()].map((source) => [source, []]));
const needed = new Map([...packages.keys()].map((source) => [source, []]));
for (const edge of data.edges) {
  needs.get(edge.from)?.push(edge);
  needed.get(edge.to)?.push(edge);
}
const nearby = new Map([...packages.keys()].map((source) => [source, []]));
for (const path of paths) {
  nearby.get(path.dataset.start)?.push(path);
  nearby.get(path.dataset.end)?.push(path);
}
const texts = new Map([...packages].map(([source, one]) => [source,
  `${source} ${one.version} ${one.kind} ${one.state} ${one.marks.join(" ")} ${one.change ?? ""} ${one.risk ?? ""} ${one.movedFrom ?? ""}`.toLowerCase()]));

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text !== null) made.textContent = text;
  made.append(...children);
  return made;
}

function link(source) {
  const made = element("button", packages.get(source)?.label ?? source);
  made.className = "link";
  made.type = "button";
  made.addEventListener("click", () => select(source, true));
  return made;
}

function versions(one) {
  return one.before && one.before !== one.version ? `${one.before} → ${one.version}` : one.version;
}

function facts(one) {
  const list = element("dl", null);
  const add = (name, value) => value && list.append(element("dt", name), element("dd", value));
  const installs = Object.entries(one.objects).map(([kind, number]) => `${number.toLocaleString("en")} ${kind}`);
  add("Source", one.source);
  add("Moved from", one.movedFrom && one.movedFrom + (one.strategy ? ` (${one.strategy})` : ""));
  add("Kind", one.kind);
  add("Version", versions(one));
  add("Step", one.step);
  add("Change", one.change);
  add("Digest", one.digest);
  add("Object", one.object);
  add("Asked for", one.askedFor);
  add("State", one.state);
  add("Marks", one.marks.join(", "));
  add("Detached", one.detached.join("; "));
  add("Installs", installs.join(", "));
  return list;
}

function list(title, items) {
  return items.length ? [element("h3", title), element("ul", null, ...items)] : [];
}

function links(title, edges, end) {
  const said = (edge) => ` ${edge.constraint}${edge.change ? ` (${edge.change})` : ""}`;
  return list(title, edges.map((edge) => element("li", null, link(edge[end]), edge.replaces ? "" : said(edge))));
}

// The shortest way from a package that somebody asked for.
function route(source) {
  const before = new Map([[source, null]]);
  for (const one of before.keys()) {
    if (packages.get(one)?.askedFor) {
      const found = [];
      for (let at = one; at !== null; at = before.get(at)) found.push(at);
      return found;
    }
    for (const edge of needed.get(one) ?? []) {
      if (!edge.replaces && edge.change !== "removed" && !before.has(edge.from)) before.set(edge.from, one);
    }
  }
  return [];
}

function why(source) {
  const found = route(source);
  if (found.length < 2) return [];
  const way = element("p", null);
  found.forEach((one, i) => way.append(...(i ? [" → "] : []), link(one)));
  return [element("h3", "Here because of"), way];
}

function overview() {
  const all = [...packages.values()];
  const named = (one, more) => element("li", null, link(one.source), ` ${more}`);
  const parts = [element("h2", `${all.length.toLocaleString("en")} packages`)];
  if (data.compared) {
    for (const change of ["removed", "moved", "updated", "changed", "added"]) {
      const found = all.filter((one) => one.change === change);
      const step = (one) => (one.step ? ` (${one.step})` : one.movedFrom ? ` (from ${one.movedFrom})` : "");
      const title = `${change[0].toUpperCase()}${change.slice(1)}: ${found.length}`;
      const risk = (one) => (one.risk ? `, ${one.risk}` : "");
      parts.push(...list(title, found.map((one) => named(one, versions(one) + step(one) + risk(one)))));
    }
    parts.push(...list("Definitions not compared", data.notCompared.map((line) => element("li", line))));
    if (!all.some((one) => one.change)) parts.push(element("p", "Every package is as it was."));
  } else {
    parts.push(...list("Asked for", all.filter((one) => one.askedFor).map((one) => named(one, one.version))));
    const others = all.filter((one) => one.state !== "attached");
    parts.push(...list("Not as usual", others.map((one) => named(one, `${one.version}, ${one.state}`))));
  }
  return [...parts, element("p", "Choose a package to see what it needs and who needs it.")];
}

function details(one) {
  const [needing, needers] = [needs.get(one.source), needed.get(one.source)];
  return [element("h2", one.label), facts(one),
    ...list("What happens to its definitions", one.findings.map((line) => element("li", line))),
    ...why(one.source),
    ...links("Needs", needing.filter((edge) => !edge.replaces), "to"),
    ...links("Needed by", needers.filter((edge) => !edge.replaces), "from"),
    ...links("Replaces", needing.filter((edge) => edge.replaces), "to"),
    ...links("Replaced by", needers.filter((edge) => edge.replaces), "from")];
}

function near(source, is) {
  for (const path of nearby.get(source) ?? []) path.classList.toggle("near", is);
}

function select(source, scroll) {
  for (const [key, is] of [[selected, false], [source, true]]) {
    near(key, is);
    nodes.get(key)?.classList.toggle("selected", is);
    nodes.get(key)?.setAttribute("aria-pressed", String(is));
  }
  selected = source;
  const one = packages.get(source);
  panel.replaceChildren(...(one ? details(one) : overview()));
  panel.scrollTop = 0;
  if (one && scroll) {
    nodes.get(source)?.scrollIntoView({ block: "center", inline: "center" });
    focus(source);
  } else if (one) {
    stop(source);
  }
}

// One package at a time is reached by the tabulator; arrow keys go on from there.
function stop(source) {
  nodes.get(current)?.setAttribute("tabindex", "-1");
  nodes.get(source)?.setAttribute("tabindex", "0");
  current = source;
}

function focus(source) {
  stop(source);
  nodes.get(source)?.focus({ preventScroll: true });
}

function isShown(node) {
  return !node.classList.contains("hidden") && !node.classList.contains("dim");
}

function place(node) {
  const { e, f } = node.transform.baseVal.getItem(0).matrix;
  return [e, f];
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function step(source, [right, down]) {
  const [x, y] = place(nodes.get(source));
  let best = null;
  let least = Infinity;
  for (const [key, node] of nodes) {
    if (key === source || !isShown(node)) continue;
    const [dx, dy] = place(node).map((value, i) => value - [x, y][i]);
    const along = right ? dx * right : dy * down;
    const aside = Math.abs(right ? dy : dx);
    if (along <= 0 || (right && aside)) continue;
    if (along * 3 + aside < least) [best, least] = [key, along * 3 + aside];
  }
  if (best) {
    focus(best);
    nodes.get(best).scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

function chosen(name) {
  const boxes = [...document.querySelectorAll(`input[name=${name}]`)];
  return boxes.length ? new Set(boxes.filter((box) => box.checked).map((box) => box.value)) : null;
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const [kinds, states, changes] = ["kind", "state", "change"].map(chosen);
  const isIn = (values, value) => !values || values.has(value);
  const shown = new Set();
  const hits = [];
  for (const [key, one] of packages) {
    const there = isIn(kinds, one.kind) && isIn(states, one.state) && isIn(changes, one.change ?? UNCHANGED);
    const hit = there && words.every((word) => texts.get(key).includes(word));
    if (there) shown.add(key);
    if (hit) hits.push(key);
    nodes.get(key).classList.toggle("hidden", !there);
    nodes.get(key).classList.toggle("dim", there && !hit);
  }
  for (const path of paths) {
    path.classList.toggle("hidden", !(shown.has(path.dataset.start) && shown.has(path.dataset.end)));
    path.classList.toggle("dim", words.length > 0);
  }
  count.textContent = `${hits.length} of ${packages.size} packages`;
  if (!hits.includes(current)) stop(hits[0] ?? null);
}

for (const [key, node] of nodes) {
  node.addEventListener("click", () => select(key, false));
  node.addEventListener("mouseenter", () => near(key, true));
  node.addEventListener("mouseleave", () => { near(key, false); near(selected, true); });
  node.addEventListener("keydown", (event) => {
    const arrow = ARROWS[event.key];
    if (arrow) step(key, arrow);
    else if (event.key === "Enter" || event.key === " ") select(key, false);
    else return;
    event.preventDefault();
  });
}
search.addEventListener("input", filter);
search.addEventListener("keydown", (event) => {
  const first = event.key === "Enter" && [...nodes].find(([, node]) => isShown(node));
  if (first) select(first[0], true);
});
document.querySelectorAll("input[type=checkbox]").forEach((box) => box.addEventListener("change", filter));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape") {
    search.value = "";
    filter();
    select(null, false);
  }
});

// The size at which the whole picture fits, and the smallest at which a page opens: people read the names.
const size = picture.viewBox.baseVal;
const READABLE = 0.7;

function zoom(scale) {
  picture.style.width = `${Math.round(size.width * scale)}px`;
}

function fitting(isWhole) {
  const wide = (main.clientWidth - 24) / size.width;
  return Math.min(1, wide, isWhole ? (main.clientHeight - 24) / size.height : 1);
}

document.querySelectorAll("button.zoom").forEach((button) => button.addEventListener("click", () => {
  const now = picture.getBoundingClientRect().width / size.width;
  zoom(button.dataset.zoom === "fit" ? fitting(true) : now * Number(button.dataset.zoom));
}));
zoom(Math.max(fitting(false), READABLE));
filter();
select(null, false);
const first = data.packages.find((one) => one.askedFor) ?? data.packages[0];
if (first) {
  nodes.get(first.source).scrollIntoView({ block: "nearest", inline: "center" });
  stop(first.source);
}
