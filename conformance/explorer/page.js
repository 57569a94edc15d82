"use strict";
(() => {
  const doc = JSON.parse(document.getElementById("data").textContent);
  const states = new Map(Object.entries(doc.states));
  const places = { ...doc.places };
  const byId = (name) => document.getElementById(name);
  const FACES = { spec: "Specification", model: "Model", code: "Implementation" };
  const SHOWN = 120, ROW = 30, LANE = 34, COLUMN = 214, BOX = [178, 36];

  let way = doc.trail.map((each) => ({ ...each }));
  let at = 0;
  let strayed = false;
  let asking = 0;

  for (const state of states.values()) Object.assign(places, state.places);

  function made(tag, words, ...children) {
    const element = document.createElement(tag);
    const { text, on, ...rest } = words || {};
    for (const [name, value] of Object.entries(rest)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
    }
    if (text !== undefined) element.textContent = text;
    if (on) element.addEventListener("click", on);
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  function drawn(tag, words, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    const { text, ...rest } = words || {};
    for (const [name, value] of Object.entries(rest)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    element.append(...children);
    return element;
  }

  async function stateOf(name) {
    if (!states.has(name) && doc.live) {
      const answer = await fetch(`state/${encodeURIComponent(name)}`);
      if (answer.ok) {
        const found = await answer.json();
        Object.assign(places, found.places);
        states.set(name, found);
      }
    }
    return states.get(name) || null;
  }

  function stepAt(place) {
    const stop = way[place];
    const state = stop && states.get(stop.state);
    return (state && stop.move >= 0 && state.moves[stop.move]) || null;
  }

  // Whether that place can be shown.
  async function show(place, focus) {
    const mine = ++asking;
    const wanted = Math.max(0, Math.min(place, way.length - 1));
    let state = null;
    try {
      if (wanted > 0) await stateOf(way[wanted - 1].state);
      state = await stateOf(way[wanted].state);
    } catch (_error) {
      state = null;
    }
    if (mine !== asking) return true; // another place was asked for meanwhile
    if (state === null) {
      byId("said").textContent = "This state is not here.";
      byId("where").textContent = doc.live ? "The server has ended" : "Not in this file";
      return false;
    }
    at = wanted;
    render(state, focus);
    return true;
  }

  function render(state, focus) {
    const step = at > 0 ? stepAt(at - 1) : null;
    const words = at === 0 ? "Beginning" : `Step ${at}`;
    byId("where").textContent = `${words} of ${way.length - 1}`;
    byId("first").disabled = byId("back").disabled = at === 0;
    byId("on").disabled = byId("last").disabled = at === way.length - 1;
    byId("return").hidden = !strayed;
    byId("said").textContent = step ? `${words}: ${step.call}` : words;
    renderWay();
    renderStep(state, step);
    renderFaces(step);
    renderMoves(state);
    renderVariables(state, step);
    renderGraph(state);
    if (focus === "step") byId("stephead").focus({ preventScroll: true });
    if (focus === "row") byId("rows").querySelector("[aria-current]")?.focus({ preventScroll: true });
    const current = byId("rows").querySelector("[aria-current]");
    if (current) {
      const list = byId("rows");
      const top = current.offsetTop - list.offsetTop;
      if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 2 * ROW) list.scrollTop = top - list.clientHeight / 2;
    }
  }

  // ------------------------------------------------------------------ the way

  function laneOf(node) {
    const place = doc.members.indexOf(node);
    return place < 0 ? -1 : LANE * place + LANE / 2;
  }

  function lanes(node, source, wrong) {
    const width = Math.max(LANE * doc.members.length, 8);
    const svg = drawn("svg", { width, height: ROW, "aria-hidden": "true" });
    for (const member of doc.members) svg.append(drawn("line", { class: "life", x1: laneOf(member), x2: laneOf(member), y1: 0, y2: ROW }));
    const x = laneOf(node);
    const from = source >= 0 && way[source] ? laneOf(way[source].node) : -1;
    if (from >= 0 && x >= 0 && from !== x) {
      const side = from < x ? -1 : 1;
      svg.append(drawn("line", { class: "arrow", x1: from, x2: x + side * 9, y1: ROW / 2, y2: ROW / 2 }));
      svg.append(drawn("path", { class: "tip", d: `M${x + side * 5},${ROW / 2} l${side * 7},-4 v8 z` }));
    }
    if (x >= 0) svg.append(drawn("circle", { class: wrong ? "dot bad" : "dot", cx: x, cy: ROW / 2, r: 4.5 }));
    else svg.append(drawn("line", { class: "all", x1: 0, x2: width, y1: ROW / 2, y2: ROW / 2 }));
    return svg;
  }

  function renderWay() {
    const heads = drawn("svg", { width: Math.max(LANE * doc.members.length, 8), height: 16, "aria-hidden": "true" });
    for (const member of doc.members) heads.append(drawn("text", { x: laneOf(member), y: 12, "text-anchor": "middle", text: member.slice(0, 4) }));
    byId("lanes").replaceChildren(heads);
    const low = Math.max(0, at - SHOWN / 2), high = Math.min(way.length - 1, at + SHOWN / 2);
    const rows = [];
    const note = (text) => made("li", { class: "mute", text });
    if (low > 0) rows.push(note(`${low} before these`));
    for (let place = low; place <= high; place += 1) {
      const stop = place > 0 ? way[place - 1] : null;
      const label = stop ? stop.call : "the beginning";
      rows.push(made("li", {}, made("button", { type: "button", "aria-current": place === at ? "step" : null, on: () => show(place, "row") },
        made("span", { class: "number", text: String(place) }),
        stop ? lanes(stop.node, stop.source, stop.wrong) : lanes("\u0000", -1, false),
        made("span", { class: stop && stop.wrong ? "bad" : "", text: stop && stop.wrong ? `✗ ${label}` : label }))));
    }
    if (high < way.length - 1) rows.push(note(`${way.length - 1 - high} after these`));
    byId("rows").replaceChildren(...rows);
    byId("wayhead").textContent = strayed ? "Your way" : doc.kind === "run" ? "The recorded run" : way.length > 1 ? "The counterexample" : "The way";
    byId("ending").replaceChildren(...(strayed ? [] : doc.ending.map((text) => made("p", { class: "mute", text }))));
  }

  // ------------------------------------------------------------------ the step

  function conjunct(each) {
    const kinds = each.holds === null ? ["mute", "·", "not asked: "] : each.holds ? ["ok", "✓", "holds: "] : ["bad", "✗", "is false: "];
    const values = each.values.map(([name, value]) => `${name} = ${value}`).join(", ");
    return made("li", {}, made("span", { class: kinds[0], text: `${kinds[1]} ` }), made("span", { class: "hidden", text: kinds[2] }), made("code", { text: each.text }),
      values ? made("code", { class: "values", text: values }) : null);
  }

  function renderStep(state, step) {
    byId("stephead").textContent = step ? `Step ${at}: ${step.call}` : "The state to begin with";
    const parts = [];
    if (step && step.words) parts.push(made("p", { text: step.words }));
    for (const text of (step && step.findings) || []) parts.push(made("p", { class: "broken", text: `✗ ${text}` }));
    for (const name of state.broken) parts.push(made("p", { class: "broken", text: `✗ ${name} is false in the state after it` }));
    if (!step) {
      parts.push(made("p", { class: "mute", text: way.length > 1 ? "→ takes the first step." : "Choose what is to happen; → and ← go along your way." }));
      parts.push(made("p", { class: "mute", text: doc.size }));
      byId("stepbody").replaceChildren(...parts);
      return;
    }
    const who = step.node ? `At ${step.node}.` : "In the environment, at no member.";
    const guard = step.guard.length ? made("ul", {}, ...step.guard.map(conjunct)) : made("p", { class: "mute", text: "It has none, or only alternatives: see its lines." });
    const changes = step.changes.length ? made("ul", {}, ...step.changes.map((each) => made("li", { class: "change" },
      made("b", { text: each.variable }), ": ", made("del", {}, made("code", { text: each.before })), " → ", made("ins", {}, made("code", { text: each.after }))))) : made("p", { class: "mute", text: "Nothing." });
    parts.push(made("p", { class: "mute", text: who }));
    parts.push(made("div", { class: "pair" }, made("div", {}, made("h3", { text: "Guard, with the values before it" }), guard), made("div", {}, made("h3", { text: "What it changes" }), changes)));
    if (step.outputs.length) parts.push(made("details", {}, made("summary", { text: `${step.outputs.length} handed to the network and the layers around` }), ...step.outputs.map((text) => made("div", {}, made("code", { text })))));
    byId("stepbody").replaceChildren(...parts);
  }

  function source(name, lines, asked) {
    const place = places[name];
    const pre = made("pre", { class: "source", tabindex: "0", "aria-label": `${place.name} in ${place.path}` });
    place.lines.forEach((text, index) => {
      const number = place.line + index;
      const ran = lines.includes(number), wanted = asked.has(number);
      const mark = wanted ? (asked.get(number) ? "✓" : "✗") : ran ? "▸" : " ";
      pre.append(made("span", { class: wanted ? "asked" : ran ? "ran" : null }, made("i", { text: `${mark} ${number}` }), text || " "));
    });
    return made("div", {}, made("div", { class: "path", text: `${place.path}:${place.line}` }), pre);
  }

  function renderFaces(step) {
    if (!step) {
      byId("faces").replaceChildren();
      return;
    }
    const faces = doc.faces[step.action] || {};
    const parts = Object.entries(FACES).map(([face, title]) => {
      const own = faces[face] || { places: [], lacks: "" };
      const article = made("article", { "data-face": face }, made("h3", { text: title }));
      if (own.lacks) article.append(made("p", { class: "mute", text: own.lacks }));
      own.places.forEach((name, index) => {
        const asked = new Map();
        for (const each of step.guard) if (each.place === name && each.line && each.holds !== null) asked.set(each.line, each.holds && asked.get(each.line) !== false);
        const shown = source(name, step.ran[name] || [], asked);
        if (index === 0 || step.ran[name]) article.append(shown);
        else article.append(made("details", {}, made("summary", { text: `also ${places[name].path}` }), shown));
      });
      if (face === "code" && step.code && step.code !== own.lacks) article.append(made("p", { class: step.code.startsWith("The core differs") ? "broken" : "mute", text: step.code }));
      const helpers = (step.helpers && step.helpers[face]) || [];
      if (helpers.length) article.append(made("details", { open: !own.places.some((name) => step.ran[name]) }, made("summary", { text: `ran too: ${helpers.map((name) => places[name].name.split(".").pop()).join(", ")}` }), ...helpers.map((name) => source(name, step.ran[name] || [], new Map()))));
      return article;
    });
    byId("faces").replaceChildren(...parts);
    for (const pre of byId("faces").querySelectorAll("pre")) {
      const first = pre.querySelector(".ran, .asked");
      if (first) pre.scrollTop = Math.max(0, first.offsetTop - pre.clientHeight / 3);
    }
  }

  // ------------------------------------------------------------------ from here

  function take(index) {
    const state = states.get(way[at].state);
    const step = state.moves[index];
    if (!step) return;
    if (way[at].move === index && at + 1 < way.length) {
      show(at + 1, "step");
      return;
    }
    const kept = way.slice(0, at + 1);
    const before = way, wasStrayed = strayed;
    kept[at] = { ...kept[at], move: index, call: step.call, node: step.node, source: -1, wrong: false };
    way = [...kept, { state: step.target, move: -1, call: "", node: "", source: -1 }];
    strayed = true;
    show(at + 1, "step").then((there) => {
      if (there) return;
      way = before;
      strayed = wasStrayed;
    });
  }

  function renderMoves(state) {
    const free = doc.kind === "case";
    const next = way[at].move;
    byId("nexthead").textContent = free ? "What can happen now" : "What happened next";
    const parts = [];
    if (!state.moves.length) parts.push(made("p", { class: "mute", text: free ? "Nothing: no action is enabled." : "Nothing: this is the end." }));
    parts.push(made("ul", {}, ...state.moves.map((each, index) => {
      const here = doc.live || states.has(each.target);
      const text = each.call + (each.target === state.id ? " (changes nothing)" : "") + (here ? "" : " (not in this file)");
      return made("li", {}, made("button", { type: "button", "data-move": index, disabled: !here, "aria-current": index === next ? "true" : null, on: () => take(index) },
        index < 9 ? made("kbd", { text: String(index + 1) }) : null, text));
    })));
    if (state.refused.length) {
      parts.push(made("details", {}, made("summary", { text: `${state.refused.length} not enabled here, and why` }),
        made("ul", {}, ...state.refused.map((each) => made("li", {}, made("b", { text: each.node ? `${each.action} of ${each.node}` : each.action }), made("ul", {}, ...each.guard.map(conjunct)))))));
    }
    byId("moves").replaceChildren(...parts);
  }

  function renderVariables(state, step) {
    const touched = new Set(step ? step.changes.map((each) => each.variable) : []);
    const rows = state.variables.map((each) => {
      const whole = touched.has(each.name);
      const hit = (key) => whole || touched.has(`${each.name}[${key}]`) || [...touched].some((name) => name.startsWith(`${each.name}[${key}][`));
      const some = whole || each.entries.some(([key]) => hit(key));
      const cell = each.entries.length ? made("td", {}, ...each.entries.map(([key, value]) => made("div", { class: hit(key) ? "now" : null }, made("b", { text: key }), made("code", { text: value })))) : made("td", { class: some ? "now" : null }, made("code", { text: each.value }));
      return made("tr", { class: some ? "changed" : null }, made("th", { scope: "row", text: some ? `● ${each.name}` : each.name }), cell);
    });
    byId("variables").replaceChildren(made("div", { class: "wide" }, made("table", {}, made("tbody", {}, ...rows))));
    byId("statehead").textContent = step ? "The state after it (● changed)" : "The state";
  }

  // ------------------------------------------------------------------ the graph

  function go(near) {
    if (near.column === 0) return;
    if (near.column === -1) {
      if (at > 0 && way[at - 1].state === near.id) show(at - 1);
      else leap(near.id);
      return;
    }
    const index = (id, target) => states.get(id).moves.findIndex((each) => each.target === target);
    const here = way[at].state;
    if (near.column === 1) take(index(here, near.id));
    else stateOf(near.parent).then((parent) => {
      if (!parent) return;
      const place = at;
      take(index(here, near.parent));
      setTimeout(() => { if (at === place + 1) take(index(near.parent, near.id)); });
    });
  }

  function leap(id) {
    stateOf(id).then((found) => {
      if (!found) return;
      way = [{ state: id, move: -1, call: "", node: "", source: -1 }];
      strayed = true;
      show(0, "step");
    });
  }

  function renderGraph(state) {
    byId("graph").hidden = !state.around;
    if (!state.around) return;
    const columns = new Map([[-1, []], [0, []], [1, []], [2, []]]);
    for (const near of state.around.states) columns.get(near.column).push(near);
    const left = new Map(state.around.left);
    const tall = Math.max(...[...columns].map(([key, list]) => list.length + (left.has(key) ? 1 : 0)));
    const height = tall * (BOX[1] + 12) + 12;
    const places_ = new Map();
    const svg = drawn("svg", { width: 4 * COLUMN, height, role: "group", "aria-label": "The states around this one" });
    for (const [column, list] of columns) {
      const count = list.length + (left.has(column) ? 1 : 0);
      const top = (height - count * (BOX[1] + 12)) / 2 + 6;
      list.forEach((near, row) => places_.set(near.id, [(column + 1) * COLUMN + 12, top + row * (BOX[1] + 12)]));
      if (left.has(column)) svg.append(drawn("text", { class: "left", x: (column + 1) * COLUMN + 16, y: top + list.length * (BOX[1] + 12) + 20, text: `${left.get(column)} more are left out` }));
    }
    for (const near of state.around.states) {
      if (near.column === 0 || !places_.has(near.parent)) continue;
      const [from, to] = near.column < 0 ? [near.id, near.parent] : [near.parent, near.id];
      const [x1, y1] = places_.get(from), [x2, y2] = places_.get(to);
      const [a, b, c, d] = [x1 + BOX[0], y1 + BOX[1] / 2, x2, y2 + BOX[1] / 2];
      svg.append(drawn("path", { class: "edge", d: `M${a},${b} C${a + 18},${b} ${c - 18},${d} ${c},${d}` }));
    }
    const onWay = new Set(way.map((each) => each.state));
    for (const near of state.around.states) {
      const [x, y] = places_.get(near.id);
      const label = near.column === 0 ? "here" : near.column < 0 ? `${near.call} leads here` : near.call;
      const kinds = [near.column === 0 ? "here" : "", onWay.has(near.id) ? "onway" : "", near.broken ? "broken" : ""].join(" ").trim();
      const short = label.length > 27 ? `${label.slice(0, 26)}…` : label;
      const group = drawn("a", { class: kinds, tabindex: "0", role: "button", "aria-label": `${label}, state ${near.id}${near.broken ? ", breaks an invariant" : ""}` },
        drawn("title", { text: `${label}, state ${near.id}` }), drawn("rect", { class: "box", x, y, width: BOX[0], height: BOX[1], rx: 5 }),
        drawn("text", { x: x + 8, y: y + 15, text: short }), drawn("text", { class: "left", x: x + 8, y: y + 29, text: `state ${near.id}${near.broken ? " ✗" : ""}` }));
      group.addEventListener("click", () => go(near));
      group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(near); } });
      svg.append(group);
    }
    byId("drawing").replaceChildren(made("p", { class: "mute", text: `${doc.size} Drawn: what leads here, and two steps from here.` }), made("div", { class: "wide" }, svg));
    const box = byId("drawing").querySelector(".wide");
    box.scrollLeft = Math.max(0, COLUMN + BOX[0] / 2 - box.clientWidth / 2);
  }

  // ------------------------------------------------------------------ begin

  byId("title").textContent = doc.title;
  byId("facts").replaceChildren(...[...doc.facts, doc.size].filter(Boolean).map((text) => made("p", { text })));
  byId("first").addEventListener("click", () => show(0));
  byId("back").addEventListener("click", () => show(at - 1));
  byId("on").addEventListener("click", () => show(at + 1));
  byId("last").addEventListener("click", () => show(way.length - 1));
  byId("return").addEventListener("click", () => {
    way = doc.trail.map((each) => ({ ...each }));
    strayed = false;
    show(0, "step");
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const scrolls = event.target.closest && event.target.closest("pre");
    const steps = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: way.length - 1 };
    if (event.key in steps && !scrolls) {
      event.preventDefault();
      show(steps[event.key]);
    } else if (/^[1-9]$/.test(event.key)) {
      byId("moves").querySelector(`[data-move="${event.key - 1}"]:enabled`)?.click();
    }
  });
  show(0);
})();
