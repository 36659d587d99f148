"use strict";
// Every text is set as text, never as markup: names come from packages.
const data = JSON.parse(document.getElementById("data").textContent);
const packages = new Map(data.packages.map((one) => [one.source, one]));
const nodes = new Map([...document.querySelectorAll(".node")].map((node) => [node.dataset.key, node]));
const paths = [...document.querySelectorAll(".edges path")];
const search = document.getElementById("search");
const panel = document.getElementById("panel");
const count = document.getElementById("count");
let selected = null;

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

function facts(one) {
  const list = element("dl", null);
  const add = (name, value) => value && list.append(element("dt", name), element("dd", value));
  add("Source", one.source);
  add("Kind", one.kind);
  add("Version", one.before ? `${one.before} → ${one.version}` : one.version);
  add("Step", one.step);
  add("Change", one.change);
  add("Digest", one.digest);
  add("Object", one.object);
  add("Asked for", one.askedFor);
  add("Marks", one.marks.join(", "));
  add("Detached", one.detached.join("; "));
  add("Installs", Object.entries(one.objects).map(([kind, number]) => `${number} ${kind}`).join(", "));
  return list;
}

function links(title, edges, end) {
  if (!edges.length) return [];
  const items = edges.map((edge) => element("li", null, link(edge[end]), ` ${edge.constraint}`));
  return [element("h3", title), element("ul", null, ...items)];
}

function select(source, scroll) {
  selected = source;
  for (const [key, node] of nodes) {
    node.classList.toggle("selected", key === source);
    node.setAttribute("aria-pressed", String(key === source));
  }
  const one = packages.get(source);
  const needs = data.edges.filter((edge) => edge.from === source);
  const needed = data.edges.filter((edge) => edge.to === source);
  if (one) {
    panel.replaceChildren(element("h2", one.label), facts(one),
      ...links("Needs", needs.filter((edge) => !edge.replaces), "to"),
      ...links("Needed by", needed.filter((edge) => !edge.replaces), "from"),
      ...links("Replaces", needs.filter((edge) => edge.replaces), "to"),
      ...links("Replaced by", needed.filter((edge) => edge.replaces), "from"));
    if (scroll) {
      nodes.get(source)?.scrollIntoView({ block: "center", inline: "center" });
      nodes.get(source)?.focus({ preventScroll: true });
    }
  } else {
    panel.replaceChildren(element("p", "Choose a package to see what it needs and who needs it."));
  }
  paths.forEach((path) => path.classList.toggle("near", [path.dataset.start, path.dataset.end].includes(source)));
}

function chosen(name) {
  const boxes = [...document.querySelectorAll(`input[name=${name}]`)];
  return new Set(boxes.filter((box) => box.checked).map((box) => box.value));
}

function matches(one, words) {
  const text = `${one.source} ${one.version} ${one.kind} ${one.marks.join(" ")} ${one.change ?? ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const kinds = chosen("kind");
  const states = chosen("state");
  const shown = new Set();
  let found = 0;
  for (const [key, one] of packages) {
    const there = kinds.has(one.kind) && states.has(one.state);
    const hit = there && matches(one, words);
    if (there) shown.add(key);
    if (hit) found += 1;
    nodes.get(key).classList.toggle("hidden", !there);
    nodes.get(key).classList.toggle("dim", there && !hit);
    nodes.get(key).setAttribute("tabindex", hit ? "0" : "-1");
  }
  for (const path of paths) {
    path.classList.toggle("hidden", !(shown.has(path.dataset.start) && shown.has(path.dataset.end)));
    path.classList.toggle("dim", words.length > 0);
  }
  count.textContent = `${found} of ${packages.size} packages`;
}

for (const [key, node] of nodes) {
  node.addEventListener("click", () => select(key, false));
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      select(key, false);
    }
  });
}
search.addEventListener("input", filter);
search.addEventListener("keydown", (event) => {
  const first = event.key === "Enter" && [...nodes].find(([, node]) => !node.matches(".dim, .hidden"));
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
const picture = document.querySelector("svg.graph");
const main = document.querySelector("main");
document.querySelectorAll("button.zoom").forEach((button) => button.addEventListener("click", () => {
  const now = picture.getBoundingClientRect().width;
  picture.style.width = `${button.dataset.zoom === "fit" ? main.clientWidth - 16 : now * Number(button.dataset.zoom)}px`;
}));
filter();
