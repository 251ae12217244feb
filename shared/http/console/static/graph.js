// The drawing of a graph. What it shows stands on the page as lists, too; a tap goes where the entity's link goes.
"use strict";

const place = document.getElementById("graph");

const WIDEST = 130; // pixels of a name
const SIZE = 13; // of its letters

// Of the names, from the best connected on, those that cover none before them; the others are shown when they are looked at more closely.
function uncovered(nodes) {
  const kept = [];
  return nodes.map((node) => {
    const { x, y } = node.renderedPosition();
    const half = Math.min(WIDEST, 0.6 * SIZE * node.data("name").length) / 2 + 2;
    const [top, bottom] = [y + SIZE / 2, y + 2.2 * SIZE];
    const free = kept.every((one) => x + half < one.left || x - half > one.right || bottom < one.top || top > one.bottom);
    if (free) kept.push({ left: x - half, right: x + half, top, bottom });
    return free;
  });
}

// scale: how much larger all must be drawn to be seen as meant, where much stands in the place. most: the highest degree.
function styles(scale, most, count) {
  const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [text, soft, line, accent, card, mark] = ["--text", "--soft", "--line", "--accent", "--card", "--mark"].map(of);
  const base = scale * (count > 60 ? 0.7 : 1);
  const size = `mapData(degree, 0, ${most}, ${10 * base}, ${30 * base})`;
  return [
    { selector: "node", style: {
      color: text, "font-size": SIZE * scale, "text-wrap": "ellipsis", "text-max-width": WIDEST * scale,
      "text-valign": "bottom", "text-margin-y": 3 * scale, "text-outline-color": card, "text-outline-width": 2 * scale, "background-color": soft, width: size, height: size } },
    { selector: "node[?first], node.near", style: { label: "data(name)", "z-index": 1 } }, // names lie above the nodes beside them
    { selector: "node[type != 'concept']", style: { "background-color": accent } },
    { selector: "node[?centre]", style: { "border-width": 4 * scale, "border-color": mark, "font-weight": "bold", "font-size": (SIZE + 2) * scale } },
    { selector: "edge", style: {
      width: 1.5 * scale, "line-color": line, "curve-style": "straight", color: soft, "font-size": 11 * scale, "text-rotation": "autorotate",
      "text-background-color": card, "text-background-opacity": 1 } },
    { selector: "edge[?named]", style: { label: "data(name)" } },
  ];
}

function draw(drawing) {
  const named = drawing.edges.length <= 25; // else the words hide the lines
  const nodes = drawing.nodes.map((one) => ({ data: { ...one, centre: one.id === drawing.centre } }));
  const edges = drawing.edges.map((one) => ({ data: { ...one, named } }));
  const cy = cytoscape({
    container: place, elements: { nodes, edges }, boxSelectionEnabled: false, autoungrabify: true,
    userZoomingEnabled: matchMedia("(pointer: coarse)").matches, // a wheel scrolls the page
    layout: { name: "cose", animate: false, idealEdgeLength: 60, nodeRepulsion: 6000, componentSpacing: 30 },
  });
  const { w, h } = cy.nodes().boundingBox();
  if (w && h) cy.nodes().positions((one) => ({ x: (one.position("x") / w) * cy.width(), y: (one.position("y") / h) * cy.height() }));
  cy.fit(undefined, 40);
  const scale = 1 / cy.zoom();
  const free = uncovered(cy.nodes().toArray());
  cy.nodes().forEach((node, row) => node.data("first", free[row]));
  const style = () => cy.style(styles(scale, Math.max(10, ...drawing.nodes.map((one) => one.degree)), nodes.length));
  style();
  cy.on("zoom", () => cy.nodes().toggleClass("near", cy.zoom() * scale > 1.25));
  cy.on("tap", "node", (event) => location.assign(`/console/graph?entity=${encodeURIComponent(event.target.id())}`));
  cy.on("mouseover", "node", () => place.classList.add("over")).on("mouseout", "node", () => place.classList.remove("over"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", style);
  new ResizeObserver(() => cy.resize()).observe(document.getElementById("main")); // what is found above moves the drawing, and taps must follow
  document.getElementById("zoom").hidden = false;
  document.getElementById("zoom").addEventListener("click", ({ target }) => {
    if (target.dataset.zoom === "fit") cy.fit(undefined, 40);
    else if (target.dataset.zoom) cy.zoom({ level: cy.zoom() * Number(target.dataset.zoom), renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  });
  globalThis.graph = cy; // for who looks at it with the browser's tools
}

if (place) requestAnimationFrame(() => setTimeout(draw, 0, JSON.parse(place.dataset.drawing))); // after the page is seen
