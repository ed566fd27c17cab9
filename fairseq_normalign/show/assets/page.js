"use strict";
(() => {
  /* ---------- what the page knows ---------- */

  const data = JSON.parse(document.getElementById("data").textContent);
  const sentences = data.sentences;
  const methods = data.methods;
  const KINDS_COUNTED = 3; // links, sure hits, possible hits
  const ROW_HEIGHT = 74;
  const MAX_CACHED = 64;

  const byId = (id) => document.getElementById(id);
  const percent = (x) => (100 * x).toFixed(1);
  const number = (x) => (x < 0 ? "−" + number(-x) : x === 0 ? "0" : x >= 0.0995 ? x.toPrecision(3) : x >= 0.0001 ? x.toFixed(4) : x.toExponential(1));

  function bytesOf(base64) {
    const letters = atob(base64);
    const bytes = new Uint8Array(letters.length);
    for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
    return bytes;
  }

  const counts = new Uint16Array(bytesOf(data.counts).buffer);

  /* Choices stand in one order: method, layer, head (all first), step. */
  let choices = 0;
  for (const method of methods) {
    method.firstChoice = choices;
    choices += method.layers * (method.heads + 1) * method.steps.length;
  }

  function choiceIndex(method, layer, head, step) {
    const steps = method.steps.length;
    const which = Math.max(0, method.steps.indexOf(step));
    return method.firstChoice + (layer * (method.heads + 1) + head + 1) * steps + which;
  }

  function countsOf(sentence, choice) {
    const at = (sentence * choices + choice) * KINDS_COUNTED;
    return { links: counts[at], sureHits: counts[at + 1], possibleHits: counts[at + 2], sure: sureOf(sentence) };
  }

  const sureOf = (sentence) => (sentences[sentence].g ? sentences[sentence].g.s.length : 0);

  function aer(c) {
    const whole = c.links + c.sure;
    return whole ? 1 - (c.sureHits + c.possibleHits) / whole : 0;
  }

  function summed(list) {
    const total = { links: 0, sureHits: 0, possibleHits: 0, sure: 0 };
    for (const c of list) for (const key of Object.keys(total)) total[key] += c[key];
    return total;
  }

  const corpusCache = new Map();
  function corpusAer(choice) {
    if (!corpusCache.has(choice)) {
      const withGold = sentences.map((s, n) => n).filter((n) => sentences[n].g);
      corpusCache.set(choice, aer(summed(withGold.map((n) => countsOf(n, choice)))));
    }
    return corpusCache.get(choice);
  }

  /* ---------- numbers, unpacked when they are wanted ---------- */

  const unpacked = new Map();

  async function levelsOf(n) {
    if (unpacked.has(n)) return unpacked.get(n);
    const packed = bytesOf(byId("d" + n).textContent);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const length = planes.length / 2;
    const levels = new Uint16Array(length);
    for (let k = 0; k < length; k++) levels[k] = planes[k] | (planes[length + k] << 8);
    if (unpacked.size >= MAX_CACHED) unpacked.delete(unpacked.keys().next().value);
    unpacked.set(n, levels);
    return levels;
  }

  const positions = (side) => side.p || side.w;
  const owners = (side) => side.o || side.w.map((_, n) => n);

  function rowsAndColumns(sentence, method) {
    return method.kind === "steps"
      ? [positions(sentence.t).length + 1, positions(sentence.s).length]
      : [sentence.t.w.length, sentence.s.w.length];
  }

  /* Where the matrix of a reading begins in the numbers of its sentence, its scale, and where its links are. */
  function placeOf(sentence, chosen) {
    let offset = 0, scale = 0, links = 0, found = null;
    for (const method of methods) {
      if (method.kind === "links") continue;
      const [rows, columns] = rowsAndColumns(sentence, method);
      const size = rows * columns;
      if (method === chosen.method) {
        const matrix = chosen.head < 0 ? chosen.layer : method.layers + chosen.layer * method.heads + chosen.head;
        const reading = choiceIndex(method, chosen.layer, chosen.head, chosen.step) - method.firstChoice;
        found = {
          rows, columns, offset: offset + matrix * size, scale: sentence.z[scale + matrix],
          zero: sentence.o ? sentence.o[scale + matrix] : 0, links: links + reading * sentence.t.w.length,
        };
      }
      offset += method.layers * (method.heads + 1) * size;
      scale += method.layers * (method.heads + 1);
      if (!givenLinks(sentence, method)) links += method.layers * (method.heads + 1) * method.steps.length * sentence.t.w.length;
    }
    if (found) found.links += offset; // links come after all matrices
    return found;
  }

  /* The links of a reading, as they were before the numbers were rounded. */
  function storedLinks(sentence, levels, chosen) {
    const { links } = placeOf(sentence, chosen);
    return sentence.t.w.map((_, t) => [levels[links + t] - 1, t]).filter(([s]) => s >= 0);
  }

  /* The soft alignment that is to be seen: sums of levels [targets * sources], value = sum * factor of its row. */
  function softOf(n, levels, chosen, level) {
    const sentence = sentences[n];
    const place = placeOf(sentence, chosen);
    if (!place || (chosen.method.kind === "words" && level === "piece")) return null;
    const shift = chosen.method.kind === "steps" && chosen.step === "awi" ? 1 : 0;
    const sides = chosen.method.kind === "steps"
      ? [groups(sentence.t, level, false), groups(sentence.s, level, true)]
      : [sentence.t.w.map((_, k) => [k]), sentence.s.w.map((_, k) => [k])];
    const [targets, sources] = sides;
    const sums = new Float64Array(targets.length * sources.length);
    targets.forEach((rows, t) => sources.forEach((columns, s) => {
      let sum = 0;
      for (const row of rows) for (const column of columns) sum += levels[place.offset + (row + shift) * place.columns + column] - place.zero;
      sums[t * sources.length + s] = sum;
    }));
    return { sums, width: sources.length, factors: targets.map((rows) => place.scale / rows.length) };
  }

  /* The positions behind each label: words, or pieces; on the source side pieces that are no words are shown as well. */
  function groups(side, level, specials) {
    const owner = owners(side);
    if (level === "piece") return owner.map((_, k) => [k]).filter(([k]) => specials || owner[k] >= 0);
    const words = side.w.map(() => []);
    owner.forEach((word, k) => { if (word >= 0) words[word].push(k); });
    return words;
  }

  function labelsOf(side, level, specials) {
    const owner = owners(side);
    if (level === "word") return side.w.map((text, n) => ({ text, word: n }));
    return positions(side).map((text, k) => ({ text, word: owner[k] })).filter((label) => specials || label.word >= 0);
  }

  function decided(soft, sourceLabels, threshold) {
    const links = [];
    const height = soft.width ? soft.sums.length / soft.width : 0;
    for (let t = 0; t < height; t++) {
      let best = -1, total = 0, any = false;
      for (let s = 0; s < soft.width; s++) {
        if (sourceLabels[s].word < 0) continue;
        const value = soft.sums[t * soft.width + s];
        total += value;
        any ||= value !== 0;
        if (best < 0 || value > soft.sums[t * soft.width + best]) best = s;
      }
      if (threshold === null) {
        if (any) links.push([best, t]);
      } else {
        for (let s = 0; s < soft.width; s++) {
          if (sourceLabels[s].word >= 0 && total > 0 && soft.sums[t * soft.width + s] / total > threshold) links.push([s, t]);
        }
      }
    }
    return links;
  }

  const key = (s, t) => s + "-" + t;

  function goldOf(sentence) {
    if (!sentence.g) return null;
    return { sure: new Set(sentence.g.s.map(([s, t]) => key(s, t))), possible: new Set(sentence.g.p.map(([s, t]) => key(s, t))) };
  }

  function countLinks(n, links) {
    const gold = goldOf(sentences[n]);
    const c = { links: links.length, sureHits: 0, possibleHits: 0, sure: gold.sure.size };
    for (const [s, t] of links) {
      if (gold.sure.has(key(s, t))) c.sureHits++;
      if (gold.sure.has(key(s, t)) || gold.possible.has(key(s, t))) c.possibleHits++;
    }
    return c;
  }

  /* Words that a check found without a partner: in the source those without a target, in the target without a source. */
  const LONE = { source: "without a target", target: "without a source" };
  const loneOf = (sentence, side) => new Set(sentence.c ? sentence.c[side[0]] : []);
  const loneCount = (n) => (sentences[n].c ? sentences[n].c.s.length + sentences[n].c.t.length : 0);
  const scoreText = (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(2);

  /* Everything about the pair that the views draw. */
  async function pairOf(n, chosen, level, threshold) {
    const sentence = sentences[n];
    const pieces = level === "piece" && chosen.method.kind === "steps";
    const shown = pieces ? "piece" : "word";
    const sources = labelsOf(sentence.s, shown, true), targets = labelsOf(sentence.t, shown, false);
    for (const [side, labels] of [["source", sources], ["target", targets]]) {
      const lone = loneOf(sentence, side);
      for (const one of labels) one.lone = lone.has(one.word);
    }
    const levels = chosen.method.kind === "links" ? null : await levelsOf(n);
    const soft = levels && softOf(n, levels, chosen, shown), given = givenLinks(sentence, chosen.method);
    const links = given && !(soft && threshold !== null) ? given
      : threshold === null && !pieces ? storedLinks(sentence, levels, chosen) : decided(soft, sources, threshold);
    return { n, sentence, level: shown, sources, targets, soft, links, linked: new Set(links.map(([s, t]) => key(s, t))), gold: goldOf(sentence) };
  }

  /* Links that came with the method: another aligner's, or those decided when several readings were multiplied. */
  const givenLinks = (sentence, method) => (sentence.k && sentence.k[method.name]) || null;

  function valueAt(pair, s, t) {
    const sum = pair.soft.sums[t * pair.soft.width + s];
    let total = 0;
    for (let k = 0; k < pair.soft.width; k++) if (pair.sources[k].word >= 0) total += pair.soft.sums[t * pair.soft.width + k];
    return { value: sum * pair.soft.factors[t], share: total > 0 ? sum / total : 0 };
  }

  /* Whether a check found no partner for one of the words of a link. */
  const isDoubtful = (pair, s, t) => pair.sources[s].lone || pair.targets[t].lone;
  const DOUBT = "doubtful: the check found no partner for ";

  /* 'sure', 'possible' or '' */
  function goldKind(pair, s, t) {
    if (!pair.gold) return "";
    const at = key(pair.sources[s].word, pair.targets[t].word);
    return pair.gold.sure.has(at) ? "sure" : pair.gold.possible.has(at) ? "possible" : "";
  }

  function missedOf(pair) {
    if (!pair.gold || pair.level !== "word") return [];
    return pair.sentence.g.s.filter(([s, t]) => !pair.linked.has(key(s, t)));
  }

  /* ---------- what is chosen ---------- */

  const state = {
    n: 0, method: methods[0], layer: 0, head: -1, step: "awi", level: "word", view: "matrix",
    gold: data.gold, threshold: null, lastThreshold: 0.25, word: null, sort: "file", query: "", filter: "all", beside: "",
  };

  /* ---------- the second panel ---------- */

  const rowsOfMethods = methods.flatMap((method) => method.steps.map((step) =>
    ({ label: [method.name, step.toUpperCase()].filter(Boolean).join(" "), method, step })));

  /* What stands beside: a method and a step, at its best layer where gold tells, else at the layer that is shown. */
  function besideChoice() {
    const row = rowsOfMethods.find((one) => one.label === state.beside);
    if (!row) return null;
    let layer = Math.min(state.layer, row.method.layers - 1);
    if (data.gold) {
      const rates = Array.from({ length: row.method.layers }, (_, k) => corpusAer(choiceIndex(row.method, k, -1, row.step)));
      layer = rates.indexOf(Math.min(...rates));
    }
    return { method: row.method, layer, head: -1, step: row.step };
  }

  function nameOf(c) {
    const parts = [c.method.name];
    if (c.method.layers > 1) parts.push(`layer ${c.layer + 1}`);
    if (c.head >= 0) parts.push(`head ${c.head + 1}`);
    if (c.method.steps.length > 1) parts.push(c.step.toUpperCase());
    return parts.join(", ");
  }

  function chosen() { return { method: state.method, layer: state.layer, head: state.head, step: stepOf(state.method) }; }
  function stepOf(method) { return method.steps.includes(state.step) ? state.step : method.steps[0]; }

  function choose(changes) {
    Object.assign(state, changes);
    state.layer = Math.min(state.layer, state.method.layers - 1);
    state.head = Math.min(state.head, state.method.heads - 1);
    if ("n" in changes || "level" in changes || "method" in changes) state.word = null;
    refresh();
  }

  function startFrom(start) {
    if (!start) return;
    const method = methods.find((m) => m.name === start.method);
    if (method) state.method = method;
    state.layer = Math.min(start.layer, state.method.layers - 1);
    state.head = start.head === null ? -1 : Math.min(start.head, state.method.heads - 1);
    if (start.step) state.step = start.step;
    const beside = data.beside && rowsOfMethods.find((row) => row.method.name === data.beside.method && row.step === data.beside.step);
    if (beside) state.beside = beside.label;
  }

  function readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const whole = (name, low, high) => {
      const found = Number.parseInt(given.get(name), 10);
      return Number.isInteger(found) && found >= low && found <= high ? found : null;
    };
    const method = methods.find((m) => m.name === given.get("method"));
    if (method) state.method = method;
    const n = sentences.findIndex((s) => String(s.id + 1) === given.get("sentence"));
    if (n >= 0) state.n = n;
    state.layer = (whole("layer", 1, state.method.layers) ?? Math.min(state.layer, state.method.layers - 1) + 1) - 1;
    state.head = (whole("head", 1, state.method.heads) ?? state.head + 1) - 1;
    if (["awo", "awi"].includes(given.get("step"))) state.step = given.get("step");
    if (["word", "piece"].includes(given.get("level"))) state.level = given.get("level");
    if (["matrix", "words"].includes(given.get("view"))) state.view = given.get("view");
    if (given.get("beside") === "none") state.beside = "";
    else if (rowsOfMethods.some((row) => row.label === given.get("beside"))) state.beside = given.get("beside");
  }

  function writeAddress() {
    const now = new URLSearchParams({ sentence: sentences[state.n].id + 1, method: state.method.name });
    if (state.method.layers > 1) now.set("layer", state.layer + 1);
    if (state.head >= 0) now.set("head", state.head + 1);
    now.set("step", state.step);
    if (state.level !== "word") now.set("level", state.level);
    if (state.view !== "matrix") now.set("view", state.view);
    if (rowsOfMethods.length > 1) now.set("beside", state.beside || "none");
    try { history.replaceState(null, "", "#" + now); } catch { /* some viewers give pages no address */ }
  }

  /* ---------- small builders; text is only ever text ---------- */

  function node(tag, options = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "text") made.textContent = value;
      else if (name === "class") made.className = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }

  function drawn(tag, options = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "text") made.textContent = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  /* ---------- the list of sentences ---------- */

  const list = byId("list"), spacer = byId("spacer");
  const lowered = [];
  let order = sentences.map((_, n) => n);
  let liveCounts = null; // by sentence, when links are decided by a threshold

  function textOf(n) {
    const s = sentences[n];
    lowered[n] ??= [s.s.w.join(" "), s.t.w.join(" "), (s.n || []).join(" ")].join("\n").toLowerCase();
    return lowered[n];
  }

  function rateOf(n) {
    if (!sentences[n].g) return null;
    if (state.threshold !== null) return liveCounts && liveCounts[n] ? aer(liveCounts[n]) : null;
    const c = chosen();
    return aer(countsOf(n, choiceIndex(c.method, c.layer, c.head, c.step)));
  }

  /* How the second panel's AER of a sentence compares: above 0 where the first panel is better. */
  function gainOf(n, other) {
    const mine = rateOf(n);
    return !other || mine === null ? 0 : aer(countsOf(n, choiceIndex(other.method, other.layer, other.head, other.step))) - mine;
  }

  function passes(n, other) {
    if (state.filter === "flagged") return loneCount(n) > 0;
    if (state.filter === "all" || !sentences[n].g) return state.filter === "all";
    const of = (c) => countsOf(n, choiceIndex(c.method, c.layer, c.head, c.step));
    const c = state.threshold !== null && liveCounts && liveCounts[n] ? liveCounts[n] : of(chosen());
    const wrong = c.links - c.possibleHits, missed = c.sure - c.sureHits;
    return { wrong: wrong > 0, missed: missed > 0, right: !wrong && !missed, differ: Boolean(other) && gainOf(n, other) !== 0 }[state.filter];
  }

  function orderList() {
    const query = state.query.trim().toLowerCase();
    const numbered = /^#(\d+)$/.exec(query);
    order = sentences.map((_, n) => n);
    if (numbered) order = order.filter((n) => String(sentences[n].id + 1) === numbered[1]);
    else if (query) order = order.filter((n) => textOf(n).includes(query));
    const other = besideChoice();
    order = order.filter((n) => passes(n, other));
    const gains = new Map(order.map((n) => [n, gainOf(n, other)]));
    const length = (n) => sentences[n].s.w.length + sentences[n].t.w.length;
    const rates = new Map(order.map((n) => [n, rateOf(n)]));
    const checked = (n) => (sentences[n].c ? sentences[n].c.v : null);
    const byNumber = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const compare = {
      doubt: (a, b) => byNumber(checked(a) ?? Infinity, checked(b) ?? Infinity),
      trust: (a, b) => byNumber(checked(b) ?? -Infinity, checked(a) ?? -Infinity),
      worst: (a, b) => (rates.get(b) ?? -1) - (rates.get(a) ?? -1),
      best: (a, b) => (rates.get(a) ?? 2) - (rates.get(b) ?? 2),
      gain: (a, b) => gains.get(b) - gains.get(a),
      loss: (a, b) => gains.get(a) - gains.get(b),
      long: (a, b) => length(b) - length(a),
      short: (a, b) => length(a) - length(b),
    }[state.sort];
    if (compare) order.sort((a, b) => compare(a, b) || a - b);
    byId("found").textContent = order.length === sentences.length
      ? `${order.length} sentence${order.length === 1 ? "" : "s"}` : `${order.length} of ${sentences.length} sentences`;
    spacer.style.height = order.length * ROW_HEIGHT + "px";
  }

  function drawList() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - 4);
    const last = Math.min(order.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW_HEIGHT) + 4);
    const rows = [];
    for (let place = first; place < last; place++) rows.push(listRow(place));
    spacer.replaceChildren(...rows);
    const active = order.indexOf(state.n);
    if (active >= first && active < last) list.setAttribute("aria-activedescendant", "row" + state.n);
    else list.removeAttribute("aria-activedescendant");
  }

  function listRow(place) {
    const n = order[place], sentence = sentences[n], rate = rateOf(n);
    const check = sentence.c ? ` · score ${scoreText(sentence.c.v)}` + (loneCount(n) ? ` · ∅ ${loneCount(n)}` : "") : "";
    const notes = check + (sentence.n ? " · " + sentence.n.join(", ") : "");
    const row = node("div", {
      class: "row", role: "option", id: "row" + n, "aria-selected": String(n === state.n),
      "aria-setsize": order.length, "aria-posinset": place + 1, onclick: () => { choose({ n }); closeList(); },
    },
      node("span", { class: "number", text: "#" + (sentence.id + 1) + notes }),
      node("span", { class: "line", dir: "auto", text: sentence.s.w.join(" ") }),
      node("span", { class: "line", dir: "auto", text: sentence.t.w.join(" ") }));
    row.style.top = place * ROW_HEIGHT + "px";
    if (rate !== null) {
      const bar = node("i");
      bar.style.width = percent(rate) + "%";
      row.append(node("span", { class: "rate", text: percent(rate), title: "AER of this sentence" }), node("span", { class: "bar" }, bar));
    }
    return row;
  }

  function showActive() {
    const top = order.indexOf(state.n) * ROW_HEIGHT;
    if (top < 0) return;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
  }

  function step(by) {
    if (!order.length) return;
    const at = order.indexOf(state.n);
    const to = at < 0 ? 0 : Math.min(order.length - 1, Math.max(0, at + by));
    choose({ n: order[to] });
    showActive();
    drawList();
  }

  /* With a threshold the AER of every sentence is counted anew, a little at a time. */
  let counting = 0;
  async function recount() {
    const mine = ++counting;
    liveCounts = [];
    const c = chosen(), threshold = state.threshold;
    let rested = performance.now();
    for (let n = 0; n < sentences.length; n++) {
      if (!sentences[n].g) continue;
      const pair = await pairOf(n, c, "word", threshold);
      if (mine !== counting) return;
      liveCounts[n] = countLinks(n, pair.links);
      if (performance.now() - rested > 25) {
        await new Promise((resume) => setTimeout(resume));
        if (mine !== counting) return;
        rested = performance.now();
      }
    }
    orderList();
    drawList();
    drawStrips();
  }

  /* ---------- switches ---------- */

  function radios(name, title, options, value, onpick) {
    const boxes = options.map(({ value: own, text, hint, disabled }) =>
      node("label", { title: hint },
        node("input", { type: "radio", name, value: own, checked: own === value, disabled, onchange: () => onpick(own) }),
        node("span", { text })));
    return node("fieldset", { id: "switch-" + name }, node("legend", { text: title }), node("div", { class: "options" }, ...boxes));
  }

  function counted(count, first) {
    return Array.from({ length: count }, (_, k) => ({ value: String(k), text: String(k + first) }));
  }

  function drawSwitches() {
    const held = document.activeElement && document.activeElement.closest("#switches") ? document.activeElement : null;
    const { method } = state, parts = [];
    if (methods.length > 1) {
      parts.push(radios("method", "Method", methods.map((m) => ({ value: m.name, text: m.name })), method.name,
        (name) => choose({ method: methods.find((m) => m.name === name) })));
    }
    if (method.layers > 1) {
      parts.push(radios("layer", "Layer", counted(method.layers, 1), String(state.layer), (k) => choose({ layer: Number(k) })));
    }
    if (method.heads) {
      parts.push(radios("head", "Head", [{ value: "-1", text: "all" }, ...counted(method.heads, 1)], String(state.head),
        (k) => choose({ head: Number(k) })));
    }
    if (method.steps.length > 1) {
      parts.push(radios("step", "Read where the word is", [
        { value: "awo", text: "output · AWO", hint: "the decoder step that puts the word out" },
        { value: "awi", text: "input · AWI", hint: "the decoder step that takes the word in, one later" },
      ], state.step, (step) => choose({ step })));
    }
    if (sentences.some((s) => s.s.p || s.t.p)) {
      parts.push(radios("level", "Level", [{ value: "word", text: "words" }, { value: "piece", text: "pieces", disabled: method.kind !== "steps" }],
        method.kind === "steps" ? state.level : "word", (level) => choose({ level })));
    }
    if (rowsOfMethods.length > 1) parts.push(besideSwitch());
    parts.push(radios("view", "View", [{ value: "matrix", text: "matrix" }, { value: "words", text: "linked words" }], state.view,
      (view) => choose({ view })));
    if (data.gold) {
      parts.push(radios("gold", "Gold", [{ value: "on", text: "shown" }, { value: "off", text: "hidden" }], state.gold ? "on" : "off",
        (value) => choose({ gold: value === "on" })));
    }
    if (method.kind !== "links") parts.push(decisionSwitch());
    byId("switches").replaceChildren(...parts);
    byId("now").textContent = nameOf(chosen());
    if (held && held.name) {
      const again = byId("switches").querySelector(`input[name="${held.name}"]` + (held.type === "radio" ? ":checked" : ""));
      if (again) again.focus();
    }
  }

  function besideSwitch() {
    const select = node("select", { id: "beside", "aria-label": "What the second panel shows", onchange: (event) => choose({ beside: event.target.value }) },
      node("option", { value: "", text: "nothing" }),
      ...rowsOfMethods.map((row) => node("option", { value: row.label, text: row.label, selected: row.label === state.beside })));
    return node("div", {}, node("div", { class: "name", text: "Second panel" }), select);
  }

  function decisionSwitch() {
    const given = sentences.some((sentence) => givenLinks(sentence, state.method));
    const radio = radios("decision", "Links", [
      { value: "argmax", text: given ? "as decided" : "argmax", hint: given ? "the links that were decided when it was read" : "the largest value of every target word" },
      { value: "threshold", text: "threshold", hint: "every share above the threshold" },
    ], state.threshold === null ? "argmax" : "threshold",
      (value) => choose({ threshold: value === "argmax" ? null : state.lastThreshold }));
    if (state.threshold === null) return radio;
    const output = node("output", { for: "threshold", text: percent(state.threshold) + " %" });
    const slider = node("input", {
      type: "range", id: "threshold", name: "threshold", min: 0, max: 1, step: 0.01, value: state.threshold,
      "aria-label": "Threshold: smallest share of a row that makes a link",
      oninput: (event) => {
        state.threshold = state.lastThreshold = Number(event.target.value);
        output.textContent = percent(state.threshold) + " %";
        drawPair();
      },
      onchange: () => refresh(),
    });
    radio.querySelector(".options").append(node("span", { class: "slider" }, slider, output));
    return radio;
  }

  /* ---------- AER by layer ---------- */

  function drawStrips() {
    const tables = [];
    if (data.gold) {
      const rows = rowsOfMethods.map((row) => ({ ...row, head: row.method === state.method ? state.head : -1 }));
      const rates = rows.flatMap((row) => Array.from({ length: row.method.layers }, (_, layer) => rateAt(row, layer)));
      const layered = rows.filter((row) => row.method.layers > 1), whole = rows.filter((row) => row.method.layers === 1);
      const head = state.head >= 0 ? `, head ${state.head + 1} of ${state.method.name}` : "";
      if (layered.length) tables.push(strip(`AER of ${countedSentences()} by layer${head}`, layered, rates));
      if (whole.length) tables.push(strip(layered.length ? "AER without a layer: combined or given" : `AER of ${countedSentences()}`, whole, rates));
      if (state.method.heads) {
        const step = stepOf(state.method);
        const heads = Array.from({ length: state.method.heads + 1 }, (_, k) =>
          ({ label: k ? "head " + k : "all heads", method: state.method, step, head: k - 1 }));
        const ratesOfHeads = heads.flatMap((row) => Array.from({ length: row.method.layers }, (_, layer) => rateAt(row, layer)));
        tables.push(strip(`AER by head and layer: ${state.method.name} ${step.toUpperCase()}`, heads, ratesOfHeads));
      }
      if (state.threshold !== null) tables.push(node("p", { class: "hint", id: "live", text: liveNote() }));
    }
    byId("strips").replaceChildren(...tables);
  }

  function countedSentences() {
    const judged = sentences.filter((s) => s.g).length;
    return judged === 1 ? "the one sentence on this page" : `the ${judged} sentences on this page`;
  }

  function liveNote() {
    const known = (liveCounts || []).filter(Boolean);
    const all = sentences.filter((s) => s.g).length;
    return known.length === all
      ? `With the threshold ${percent(state.threshold)} %: AER ${percent(aer(summed(known)))}. The tables are of argmax.`
      : "The tables are of argmax; counting with the threshold …";
  }

  const rateAt = (row, layer) => corpusAer(choiceIndex(row.method, layer, row.head, row.step));

  /* Rows by layer; the tints and the star compare with all of `rates`. */
  function strip(title, rows, rates) {
    const layers = Math.max(...rows.map((row) => row.method.layers));
    const least = Math.min(...rates), most = Math.max(...rates);
    const tint = (rate) => (most > least ? Math.round(42 * (most - rate) / (most - least)) : 0); // darkest where AER is lowest
    const body = rows.map((row) => {
      const cells = Array.from({ length: row.method.layers }, (_, layer) => {
        const now = row.method === state.method && layer === state.layer && row.head === state.head && row.step === stepOf(row.method);
        const rate = rateAt(row, layer);
        const where = row.method.layers > 1 ? `, layer ${layer + 1}` : "";
        const cell = node("button", {
          type: "button", class: rate === least ? "least" : "", "aria-pressed": String(now),
          "aria-label": `${row.label}${where}: AER ${percent(rate)}${rate === least ? ", the lowest" : ""}`,
          onclick: () => choose({ method: row.method, layer, head: row.head, step: row.step || state.step }),
        }, percent(rate));
        if (!now) cell.style.background = `color-mix(in srgb, rgb(var(--heat)) ${tint(rate)}%, var(--raised))`;
        return node("td", {}, cell);
      });
      return node("tr", {}, node("th", { scope: "row", text: row.label }), ...cells);
    });
    const head = node("tr", {}, node("th", {}, node("span", { class: "hidden", text: "method" })),
      ...Array.from({ length: layers }, (_, k) => node("th", { scope: "col", text: layers > 1 ? String(k + 1) : "AER" })));
    return node("table", { class: "strip" }, node("caption", { text: title }), node("thead", {}, head), node("tbody", {}, ...body));
  }

  /* ---------- the pair ---------- */

  let current = null, currentBeside = null;
  let drawing = 0;

  async function drawPair() {
    const mine = ++drawing;
    const pair = await pairOf(state.n, chosen(), state.level, state.threshold);
    const other = besideChoice();
    const second = other && await pairOf(state.n, other, pair.level, null);
    if (mine !== drawing) return;
    current = pair;
    currentBeside = second && second.level === pair.level ? second : null;
    byId("where").textContent = `Sentence ${pair.sentence.id + 1}` + (pair.sentence.n ? ` · ${pair.sentence.n.join(", ")}` : "");
    await drawScores(pair);
    if (!pair.sources.length || !pair.targets.length) {
      byId("view").replaceChildren(node("p", { class: "notice", text: "One side of this pair is empty." }));
    } else drawPanels(pair, other);
    drawCheck(pair);
    drawLegend(pair);
    drawErrors(pair);
    drawDetail();
    byId("taken").textContent = "";
    byId("view").dataset.drawn = [pair.n, state.method.name, state.layer, state.head, stepOf(state.method), pair.level, state.view].join("|");
  }

  /* The chosen reading and, where something stands beside, that one too: next to each other where there is room. */
  function drawPanels(pair, other) {
    const panels = byId("panels"), second = currentBeside;
    panels.classList.toggle("two", Boolean(second));
    byId("view-name").hidden = byId("second").hidden = !second;
    const draw = state.view === "matrix" ? drawMatrix : drawLinked;
    if (second) {
      byId("view-name").textContent = nameOf(chosen());
      const rate = second.gold && second.level === "word" ? ` · AER ${percent(aer(countLinks(second.n, second.links)))}` : "";
      byId("second-name").textContent = nameOf(other) + rate;
      byId("stage").classList.remove("beside");
      draw(second, byId("second-view"), false);
    } else byId("second-view").replaceChildren();
    draw(pair, byId("view"), true);
    markWord();
  }

  async function drawScores(pair) {
    const place = byId("scores");
    const sizes = `${pair.sentence.s.w.length} × ${pair.sentence.t.w.length} words`;
    if (!pair.gold) { place.replaceChildren(sizes); return; }
    const words = pair.level === "word" ? pair : await pairOf(pair.n, chosen(), "word", state.threshold);
    const c = countLinks(pair.n, words.links);
    const precision = c.links ? c.possibleHits / c.links : 1, recall = c.sure ? c.sureHits / c.sure : 1;
    place.replaceChildren("AER ", node("b", { id: "aer", text: percent(aer(c)) }), " · precision ", node("b", { text: percent(precision) }),
      " · recall ", node("b", { text: percent(recall) }), ` · ${c.links} links, ${c.sure} sure in the gold · ${sizes}`);
  }

  const isRight = (pair, s, t) => !state.gold || !pair.gold || goldKind(pair, s, t) !== "";

  function pattern() {
    return drawn("defs", {}, drawn("pattern", { id: "hatch", width: 4, height: 4, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      drawn("rect", { class: "hatch-ground", width: 4, height: 4 }), drawn("line", { class: "hatch-line", x1: 0, y1: 0, x2: 0, y2: 4 })));
  }

  /* -- matrix -- */

  const DETAIL_ROOM = 420; // beside a matrix that leaves this much, the numbers of a word stand at its side

  function drawMatrix(pair, place, first) {
    const room = (currentBeside ? place.clientWidth || byId("panels").clientWidth : byId("stage").clientWidth) - 22;
    const narrow = room < 560;
    const columns = pair.sources.length, rows = pair.targets.length;
    const longest = (labels) => Math.max(...labels.map((label) => widthOf(shownText(label))));
    const left = Math.min(narrow ? 96 : 190, longest(pair.targets) + 18);
    const top = Math.min(narrow ? 110 : 170, longest(pair.sources) + 16);
    const size = Math.max(narrow ? 17 : 18, Math.min(32, Math.floor((room - left) / columns)));
    const measure = { left, top, size, width: columns * size, height: rows * size };
    byId("stage").classList.toggle("beside", !currentBeside && room - left - measure.width > DETAIL_ROOM);

    const cells = node("div", { class: "cells", id: first ? "cells" : null });
    cells.style.width = measure.width + "px";
    cells.style.height = measure.height + "px";
    cells.append(heat(pair, measure), marks(pair, measure));
    cells.addEventListener("mousemove", (event) => pointAt(event, pair, measure));
    cells.addEventListener("click", (event) => pointAt(event, pair, measure));
    cells.addEventListener("mouseleave", hideTip);
    const corner = node("div", { class: "corner", text: "source →\ntarget ↓" });
    corner.style.width = left + "px";
    place.replaceChildren(node("div", {
      class: "matrix", tabindex: "0", role: "img",
      "aria-label": `Matrix of ${rows} target by ${columns} source ${pair.level}s with ${pair.links.length} links. The arrow keys read it word by word.`,
    }, corner, across(pair, measure), down(pair, measure), cells));
  }

  let ruler = null;
  function widthOf(text) {
    ruler ??= document.createElement("canvas").getContext("2d");
    ruler.font = "14px " + getComputedStyle(document.documentElement).getPropertyValue("--text");
    return ruler.measureText(text).width;
  }

  function cut(text, room) {
    if (widthOf(text) <= room) return text;
    const letters = [...text];
    while (letters.length > 1 && widthOf(letters.join("") + "…") > room) letters.pop();
    return letters.join("") + "…";
  }

  function heat(pair, { size, width, height }) {
    const canvas = node("canvas", { "aria-hidden": "true" });
    const dense = window.devicePixelRatio || 1;
    canvas.width = width * dense;
    canvas.height = height * dense;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    if (!pair.soft) return canvas;
    const brush = canvas.getContext("2d");
    brush.scale(dense, dense);
    const look = getComputedStyle(document.documentElement);
    const tone = (name) => look.getPropertyValue(name).trim().split(/\s+/).map(Number);
    const dark = tone("--heat"), ground = tone("--ground");
    const value = (k) => pair.soft.sums[k] * pair.soft.factors[Math.floor(k / pair.soft.width)];
    let most = 0;
    for (let k = 0; k < pair.soft.sums.length; k++) most = Math.max(most, value(k));
    for (let k = 0; k < pair.soft.sums.length; k++) {
      const part = most ? Math.max(0, value(k)) / most : 0;
      brush.fillStyle = `rgb(${ground.map((g, i) => Math.round(g + (dark[i] - g) * part)).join(" ")})`;
      brush.fillRect((k % pair.soft.width) * size, Math.floor(k / pair.soft.width) * size, size, size);
    }
    return canvas;
  }

  function marks(pair, { size, width, height }) {
    const svg = drawn("svg", { width, height, "aria-hidden": "true" }, pattern());
    for (let s = 0; s <= pair.sources.length; s++) svg.append(drawn("line", { class: "grid", x1: s * size, x2: s * size, y1: 0, y2: height }));
    for (let t = 0; t <= pair.targets.length; t++) svg.append(drawn("line", { class: "grid", x1: 0, x2: width, y1: t * size, y2: t * size }));
    if (state.gold && pair.gold) {
      pair.targets.forEach((_, t) => pair.sources.forEach((__, s) => {
        const kind = goldKind(pair, s, t);
        if (kind) svg.append(goldMark(kind, s * size, t * size, size));
      }));
      if (pair.level === "word") for (const [s, t] of missedOf(pair)) svg.append(ring(s * size + size / 2, t * size + size / 2, size * 0.42));
    }
    for (const [s, t] of pair.links) {
      const box = drawn("g", { class: isDoubtful(pair, s, t) ? "doubtful" : "certain" }, ...frame(isRight(pair, s, t), s * size, t * size, size));
      svg.append(box);
    }
    svg.append(drawn("g", { class: "crossing" }));
    return svg;
  }

  function goldMark(kind, x, y, size) {
    const edge = size * 0.34;
    const mark = { x: x + (size - edge) / 2, y: y + (size - edge) / 2, width: edge, height: edge };
    return drawn("rect", kind === "sure" ? { class: "sure", ...mark } : { class: "possible", fill: "url(#hatch)", ...mark });
  }

  function ring(x, y, radius) {
    return drawn("circle", { class: "frame missed", cx: x, cy: y, r: radius });
  }

  function frame(right, x, y, size) {
    const box = { x: x + 2, y: y + 2, width: size - 4, height: size - 4 };
    const parts = [drawn("rect", { class: "halo", ...box }), drawn("rect", { class: "frame " + (right ? "right" : "wrong"), ...box })];
    if (!right) parts.push(cross(x + size / 2, y + size / 2, size * 0.16, "under"), cross(x + size / 2, y + size / 2, size * 0.16));
    return parts;
  }

  function cross(x, y, reach, layer = "wrong") {
    return drawn("path", { class: "sign " + layer, d: `M${x - reach} ${y - reach}L${x + reach} ${y + reach}M${x + reach} ${y - reach}L${x - reach} ${y + reach}` });
  }

  const shownText = (word) => (word.lone ? "∅ " : "") + word.text;

  function label(side, index, word, room, options, place) {
    const kind = "word" + (word.word < 0 ? " special" : "") + (word.lone ? " lone" : "");
    const text = cut(shownText(word), room);
    const made = drawn("g", { class: kind, "data-side": side, "data-index": index },
      drawn("text", options, text), drawn("title", {}));
    made.addEventListener("mouseenter", () => hold(side, index, false));
    made.addEventListener("click", () => hold(side, index, true));
    if (place) made.prepend(place);
    return made;
  }

  function across(pair, { top, size, width }) {
    const svg = drawn("svg", { class: "across", width, height: top, "aria-hidden": "true" });
    pair.sources.forEach((word, s) => {
      const x = s * size + size / 2 + 4.5;
      const area = drawn("rect", { x: s * size, y: 0, width: size, height: top, fill: "transparent" });
      svg.append(label("source", s, word, top - 12,
        { x, y: top - 6, "font-size": 14, transform: `rotate(-90 ${x} ${top - 6})` }, area));
    });
    return svg;
  }

  function down(pair, { left, size, height }) {
    const svg = drawn("svg", { class: "down", width: left, height, "aria-hidden": "true" });
    pair.targets.forEach((word, t) => {
      const area = drawn("rect", { x: 0, y: t * size, width: left, height: size, fill: "transparent" });
      svg.append(label("target", t, word, left - 14,
        { x: left - 7, y: t * size + size / 2 + 4.5, "font-size": 14, "text-anchor": "end" }, area));
    });
    return svg;
  }

  function pointAt(event, pair, { size }) {
    const box = event.currentTarget.getBoundingClientRect();
    const s = Math.floor((event.clientX - box.left) / size), t = Math.floor((event.clientY - box.top) / size);
    if (s < 0 || t < 0 || s >= pair.sources.length || t >= pair.targets.length) { hideTip(); return; }
    showTip(event, pair, s, t);
    if (!state.word || state.word.side !== "target" || state.word.index !== t || state.word.other !== s) {
      state.word = { side: "target", index: t, other: s };
      markWord();
      drawDetail();
    }
  }

  function verdict(pair, s, t) {
    const linked = pair.linked.has(key(s, t)), kind = state.gold ? goldKind(pair, s, t) : "";
    if (!state.gold || !pair.gold) return linked ? "link" : "";
    if (linked) return kind ? `link, ${kind} in the gold` : "link, wrong";
    if (kind === "sure") return pair.level === "word" ? "sure in the gold, missed" : "sure in the gold";
    return kind ? "possible in the gold" : "";
  }

  function showTip(event, pair, s, t) {
    const tip = byId("tip");
    const names = node("b", {}, node("bdi", { text: pair.sources[s].text }), " → ", node("bdi", { text: pair.targets[t].text }));
    const lines = [names];
    if (pair.soft) {
      const { value, share } = valueAt(pair, s, t);
      lines.push(node("div", { text: pair.sources[s].word < 0 ? `${number(value)} · no word` : `${number(value)} · ${percent(share)} % of the row` }));
    }
    const said = verdict(pair, s, t);
    if (said) lines.push(node("div", { text: said }));
    if (pair.linked.has(key(s, t)) && isDoubtful(pair, s, t)) {
      const alone = [pair.sources[s], pair.targets[t]].filter((word) => word.lone).map((word) => word.text);
      lines.push(node("div", { text: DOUBT + alone.join(" and ") }));
    }
    tip.replaceChildren(...lines);
    tip.hidden = false;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - width - 8)) + "px";
    tip.style.top = (event.clientY + height + 24 > window.innerHeight ? event.clientY - height - 10 : event.clientY + 16) + "px";
  }

  function hideTip() { byId("tip").hidden = true; }

  /* -- linked words -- */

  const isRightToLeft = (labels) => /^[^A-Za-z\u00c0-\u024f\u0370-\u05cf]*[\u0590-\u08ff\ufb1d-\ufefc]/.test(labels.map((l) => l.text).join(" "));

  function drawLinked(pair, place, first) {
    byId("stage").classList.remove("beside");
    const svg = drawn("svg", { "aria-hidden": "true" }, pattern());
    const side = (name, labels) => {
      const words = labels.map((word, k) => node("button", {
        type: "button", tabindex: "-1", "data-side": name, "data-index": k, text: word.text, dir: "auto",
        class: [isLinked(pair, name, k) ? "" : "unlinked", word.lone ? "lone" : ""].join(" ").trim(),
        title: word.lone ? LONE[name] : null,
        onmouseenter: () => hold(name, k, false), onmouseleave: () => release(), onclick: () => hold(name, k, true),
      }));
      return node("div", { class: "side-words " + name, role: "group", "aria-label": name, dir: isRightToLeft(labels) ? "rtl" : "ltr" }, ...words);
    };
    const box = node("div", { class: "linked rows", id: first ? "linked" : null }, side("source", pair.sources), side("target", pair.targets), svg);
    place.replaceChildren(box);
    const wide = [...box.querySelectorAll(".side-words")].some((words) => words.scrollWidth > words.clientWidth + 1);
    if (wide) box.className = "linked stacked";
    const order = [...box.querySelectorAll(".side-words")];
    const spots = order.map((words) => [...words.children].map((word) => word.getBoundingClientRect()));
    const origin = box.getBoundingClientRect();
    const line = (s, t, kind) => svg.append(...linkLine(origin, spots[0][s], spots[1][t], wide, kind, s, t));
    if (state.gold) for (const [s, t] of missedOf(pair)) line(s, t, "missed");
    for (const [s, t] of pair.links) line(s, t, (isRight(pair, s, t) ? "right" : "wrong") + (isDoubtful(pair, s, t) ? " doubtful" : ""));
  }

  const isLinked = (pair, side, k) => pair.links.some(([s, t]) => (side === "source" ? s : t) === k);

  function linkLine(origin, from, to, stacked, kind, s, t) {
    const a = stacked ? [from.right - origin.left, from.top + from.height / 2 - origin.top] : [from.left + from.width / 2 - origin.left, from.bottom - origin.top];
    const b = stacked ? [to.left - origin.left, to.top + to.height / 2 - origin.top] : [to.left + to.width / 2 - origin.left, to.top - origin.top];
    const bend = stacked ? (b[0] - a[0]) * 0.45 : (b[1] - a[1]) * 0.45;
    const control = stacked ? [[a[0] + bend, a[1]], [b[0] - bend, b[1]]] : [[a[0], a[1] + bend], [b[0], b[1] - bend]];
    const path = drawn("path", {
      class: `line ${kind}`, "data-source": s, "data-target": t,
      d: `M${a.join(" ")}C${control[0].join(" ")} ${control[1].join(" ")} ${b.join(" ")}`,
    });
    if (kind.startsWith("right")) return [path];
    const middle = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    const sign = kind.startsWith("wrong") ? cross(...middle, 4.5) : drawn("circle", { class: "sign missed", cx: middle[0], cy: middle[1], r: 4 });
    sign.setAttribute("data-source", s);
    sign.setAttribute("data-target", t);
    return [path, sign];
  }

  /* -- a word under the pointer or the keys -- */

  function hold(side, index, stay) {
    if (!stay && state.word && state.word.stay) return;
    const same = stay && state.word && state.word.stay && state.word.side === side && state.word.index === index;
    state.word = same ? null : { side, index, stay };
    markWord();
    drawDetail();
  }

  function release() {
    if (state.word && !state.word.stay && state.view === "words") {
      state.word = null;
      markWord();
      drawDetail();
    }
  }

  function markWord() {
    const { word } = state;
    for (const made of document.querySelectorAll("#panels [data-index]")) {
      const index = Number(made.dataset.index);
      const on = word && ((made.dataset.side === word.side && index === word.index) || (made.dataset.side !== word.side && index === word.other));
      made.classList.toggle("on", Boolean(on));
    }
    for (const linked of document.querySelectorAll("#panels .linked")) {
      linked.classList.toggle("busy", Boolean(word));
      for (const line of linked.querySelectorAll("[data-source]")) {
        line.classList.toggle("on", Boolean(word) && Number(line.getAttribute("data-" + word.side)) === word.index);
      }
    }
    if (current) for (const cells of document.querySelectorAll("#panels .cells")) markCross(cells, cells.querySelector(".crossing"), word);
  }

  function markCross(cells, crossing, word) {
    crossing.replaceChildren();
    if (!word) return;
    const width = cells.clientWidth, height = cells.clientHeight;
    const sizeX = width / current.sources.length, sizeY = height / current.targets.length;
    const row = (t) => drawn("rect", { class: "cross", x: 0.5, y: t * sizeY, width: width - 1, height: sizeY });
    const column = (s) => drawn("rect", { class: "cross", x: s * sizeX, y: 0.5, width: sizeX, height: height - 1 });
    crossing.append(word.side === "target" ? row(word.index) : column(word.index));
    if (word.other !== undefined) crossing.append(word.side === "target" ? column(word.other) : row(word.other));
  }

  function moveWord(by) {
    if (!current || !current.targets.length) return;
    const last = current.targets.length - 1;
    const at = state.word && state.word.side === "target" ? state.word.index + by : by > 0 ? 0 : last;
    state.word = { side: "target", index: Math.max(0, Math.min(last, at)), stay: true };
    markWord();
    drawDetail();
  }

  function drawDetail() {
    const place = byId("detail"), { word } = state, pair = current;
    if (!pair || !word || word.index >= (word.side === "target" ? pair.targets : pair.sources).length) {
      place.replaceChildren(node("p", { class: "hint", text: "Point at a word, or press → to walk through the target words, to read its links and numbers." }));
      return;
    }
    const own = word.side === "target" ? pair.targets[word.index] : pair.sources[word.index];
    const others = (word.side === "target" ? pair.sources : pair.targets).map((other, k) => {
      const [s, t] = word.side === "target" ? [k, word.index] : [word.index, k];
      return { text: other.text, k, s, t, linked: pair.linked.has(key(s, t)), kind: goldKind(pair, s, t), ...(pair.soft ? valueAt(pair, s, t) : { value: 0, share: 0 }) };
    });
    const told = others.filter((o) => o.linked || (state.gold && o.kind));
    const rest = pair.soft ? others.filter((o) => !told.includes(o) && o.value > 0).sort((a, b) => b.value - a.value).slice(0, Math.max(0, 5 - told.length)) : [];
    const rows = [...told, ...rest].sort((a, b) => b.value - a.value || a.k - b.k).map((o) => detailRow(pair, o));
    const head = node("h3", {}, node("bdi", { text: own.text }), ` ${word.side === "target" ? "←" : "→"} ${word.side === "target" ? "source" : "target"}`,
      ...(own.lone ? [" ", node("span", { class: "sign-lone", text: loneText(pair.sentence, word.side, own.word) })] : []));
    const none = node("p", { class: "hint", text: "No link." });
    const titles = node("tr", {}, ...["word", "", "value", "share", "verdict"].map((text) => node("th", { scope: "col", text: pair.soft || !["value", "share"].includes(text) ? text : "" })));
    place.replaceChildren(head, rows.length ? node("table", {}, node("thead", {}, titles), node("tbody", {}, ...rows)) : none);
  }

  function detailRow(pair, o) {
    const bar = node("i");
    bar.style.width = percent(Math.max(0, Math.min(1, o.share))) + "%";
    return node("tr", { class: o.linked ? "link" : "" },
      node("td", {}, node("bdi", { text: o.text })), node("td", { class: "meter" }, pair.soft ? bar : ""),
      node("td", { class: "n", text: pair.soft ? number(o.value) : "" }), node("td", { class: "n", text: pair.soft ? percent(o.share) + " %" : "" }),
      node("td", { text: verdict(pair, o.s, o.t) }));
  }

  /* -- links and pictures to take along -- */

  function pharaoh(pair) {
    return [...pair.links].sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([s, t]) => key(s, t)).join(" ");
  }

  async function copyLinks() {
    if (!current) return;
    const said = byId("taken"), text = pharaoh(current);
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = `${current.links.length} links copied`;
    } catch { said.textContent = text; } // pages from a disk may not write to the clipboard: then they can be selected
  }

  /* A picture that stands by itself: words, shares, links, gold. */
  function pictureOf(pairs, names) {
    const size = 22, gap = 40, top = 30;
    const left = 16 + Math.max(...pairs[0].targets.map((w) => widthOf(w.text)));
    const high = top + 16 + Math.max(...pairs[0].sources.map((w) => widthOf(w.text)));
    const wide = left + pairs[0].sources.length * size + gap;
    const svg = drawn("svg", { xmlns: "http://www.w3.org/2000/svg", width: wide * pairs.length, height: high + pairs[0].targets.length * size + 12, "font-family": "serif", "font-size": 14 });
    svg.append(drawn("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
    pairs.forEach((pair, k) => {
      const panel = drawn("g", { transform: `translate(${k * wide} 0)` }, drawn("text", { x: 8, y: 18, text: names[k] }));
      pair.sources.forEach((word, s) => {
        const x = left + s * size + size / 2 + 5;
        panel.append(drawn("text", { x, y: high - 6, transform: `rotate(-90 ${x} ${high - 6})`, text: word.text }));
      });
      pair.targets.forEach((word, t) => {
        panel.append(drawn("text", { x: left - 6, y: high + t * size + size / 2 + 5, "text-anchor": "end", text: word.text }));
        pair.sources.forEach((_, s) => panel.append(...pictureCell(pair, s, t, left + s * size, high + t * size, size)));
      });
      svg.append(panel);
    });
    return new XMLSerializer().serializeToString(svg);
  }

  function pictureCell(pair, s, t, x, y, size) {
    const share = pair.soft ? Math.max(0, Math.min(1, valueAt(pair, s, t).share)) : 0;
    const parts = [drawn("rect", { x, y, width: size, height: size, fill: "#264270", "fill-opacity": share.toFixed(3), stroke: "#dedacf" })];
    const kind = state.gold ? goldKind(pair, s, t) : "";
    if (kind) parts.push(drawn("rect", { x: x + 7, y: y + 7, width: size - 14, height: size - 14, fill: kind === "sure" ? "#24221e" : "none", stroke: "#24221e" }));
    if (pair.linked.has(key(s, t))) {
      const right = isRight(pair, s, t);
      parts.push(drawn("rect", { class: "link", x: x + 2, y: y + 2, width: size - 4, height: size - 4, fill: "none", "stroke-width": 2.2, stroke: right ? "#1f7a45" : "#b3401f", "stroke-dasharray": right ? "none" : "4 2.5" }));
    }
    return parts;
  }

  function savePicture() {
    if (!current || !current.sources.length || !current.targets.length) return;
    const pairs = [current, currentBeside].filter(Boolean), other = besideChoice();
    const text = pictureOf(pairs, [nameOf(chosen()), ...(other ? [nameOf(other)] : [])]);
    const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    node("a", { href: address, download: `sentence-${current.sentence.id + 1}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  /* -- what a check found: both sentences, with the words that have no partner -- */

  function loneText(sentence, side, word) {
    const gains = sentence.c[side[0] + "g"];
    return `∅ ${LONE[side]}` + (gains ? `, gain ${scoreText(gains[word])}` : "");
  }

  function contextOf(sentence, side) {
    const lone = loneOf(sentence, side), words = side === "source" ? sentence.s.w : sentence.t.w;
    const shown = words.flatMap((text, k) => [lone.has(k)
      ? node("mark", { class: "lone", "data-side": side, "data-word": k, title: loneText(sentence, side, k) }, node("bdi", { text }),
        node("span", { class: "sign-lone", "aria-hidden": "true", text: "\u2060∅" }), node("span", { class: "hidden", text: ` (${LONE[side]})` }))
      : node("bdi", { text }), " "]); // the sign stays on the line of its word
    return node("p", { class: "context" }, node("span", { class: "side", text: side }), node("span", { dir: "auto" }, ...shown));
  }

  function drawCheck(pair) {
    const place = byId("check"), { c } = pair.sentence;
    place.hidden = !c;
    if (!c) { place.replaceChildren(); return; }
    const counted = (count, what) => `${count} word${count === 1 ? "" : "s"} ${what}`;
    const said = [counted(c.t.length, LONE.target), counted(c.s.length, LONE.source)].join(" · ");
    place.replaceChildren(node("p", {}, "Check: score ", node("b", { id: "check-score", text: scoreText(c.v) }), ` · ${said}`),
      contextOf(pair.sentence, "source"), contextOf(pair.sentence, "target"));
  }

  /* -- legend and errors -- */

  function drawLegend(pair) {
    const sample = (...parts) => drawn("svg", { width: 18, height: 18, "aria-hidden": "true" }, pattern(), ...parts);
    const lines = state.view === "words";
    const stroke = (kind, ...more) => sample(drawn("path", { class: "frame " + kind, d: "M1 9H17" }), ...more);
    const said = (picture, text) => node("span", {}, picture, text);
    const parts = [];
    if (pair.soft && !lines) parts.push(said(node("i", { class: "ramp" }), "0 to the largest value"));
    const judged = state.gold && pair.gold;
    parts.push(said(lines ? stroke("right") : sample(...frame(true, 0, 0, 18)), judged ? "link in the gold" : "link"));
    if (judged) {
      parts.push(said(lines ? stroke("wrong", cross(9, 9, 3.5)) : sample(...frame(false, 0, 0, 18)), "wrong link"));
      if (pair.level === "word") parts.push(said(lines ? stroke("missed", drawn("circle", { class: "sign missed", cx: 9, cy: 9, r: 3.5 })) : sample(goldMark("sure", 0, 0, 18), ring(9, 9, 7.5)), "missed sure link"));
      if (!lines) parts.push(said(sample(goldMark("sure", 0, 0, 18)), "sure"), said(sample(goldMark("possible", 0, 0, 18)), "possible"));
    }
    if (lines && ["source", "target"].some((side) => pair[side + "s"].some((_, k) => !isLinked(pair, side, k)))) {
      parts.push(said(node("i", { text: "word" }), "without a link"));
    }
    if ([...pair.sources, ...pair.targets].some((word) => word.lone)) {
      parts.push(said(node("span", { class: "sign-lone", text: "∅" }), "the check found no partner for this word"));
      if (pair.links.some(([s, t]) => isDoubtful(pair, s, t))) {
        const faint = lines ? stroke("right doubtful") : sample(drawn("g", { class: "doubtful" }, ...frame(true, 0, 0, 18)));
        parts.push(said(faint, "doubtful link: an aligner may link a word that has no partner"));
      }
    }
    byId("legend").replaceChildren(...parts);
  }

  function drawErrors(pair) {
    const place = byId("errors");
    place.replaceChildren();
    if (!state.gold || !pair.gold) return;
    const item = ([s, t]) => node("li", {}, node("bdi", { text: pair.sources[s].text }), " – ", node("bdi", { text: pair.targets[t].text }));
    const wrong = pair.links.filter(([s, t]) => !goldKind(pair, s, t)), missed = missedOf(pair);
    if (wrong.length) place.append(node("h3", { class: "bad", text: `× ${wrong.length} wrong` }), node("ul", { id: "wrong" }, ...wrong.map(item)));
    if (missed.length) place.append(node("h3", { class: "lost", text: `○ ${missed.length} missed` }), node("ul", { id: "missed" }, ...missed.map(item)));
  }

  /* ---------- all together ---------- */

  function refresh() {
    if (state.threshold === null) { counting++; liveCounts = null; }
    else if (data.gold) recount();
    drawSwitches();
    drawStrips();
    orderList();
    drawList();
    writeAddress();
    drawPair();
  }

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
  }

  function toggleTheme() {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    setTheme(theme);
    try { localStorage.setItem("normalign-theme", theme); } catch { /* no storage for this page */ }
    drawPair();
  }

  function firstTheme() {
    const asked = matchMedia("(prefers-color-scheme: dark)");
    let kept = null;
    try { kept = localStorage.getItem("normalign-theme"); } catch { /* no storage for this page */ }
    setTheme(kept === "dark" || kept === "light" ? kept : asked.matches ? "dark" : "light");
    asked.addEventListener("change", () => { if (!kept) { setTheme(asked.matches ? "dark" : "light"); drawPair(); } });
  }

  function closeList() {
    byId("side").classList.remove("open");
    byId("list-toggle").setAttribute("aria-expanded", "false");
  }

  const next = (options, now) => options[(options.indexOf(now) + 1) % options.length];

  const KEYS = {
    j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
    l: () => moveWord(1), ArrowRight: () => moveWord(1), h: () => moveWord(-1), ArrowLeft: () => moveWord(-1),
    "/": () => { byId("side").classList.add("open"); byId("search").focus(); byId("search").select(); },
    m: () => choose({ method: next(methods, state.method) }),
    "[": () => choose({ head: Math.max(-1, state.head - 1) }), "]": () => choose({ head: Math.min(state.method.heads - 1, state.head + 1) }),
    a: () => choose({ step: next(["awo", "awi"], state.step) }),
    p: () => choose({ level: next(["word", "piece"], state.level) }),
    b: () => choose({ beside: next(["", ...rowsOfMethods.map((row) => row.label)], state.beside) }),
    v: () => choose({ view: next(["matrix", "words"], state.view) }),
    g: () => choose({ gold: data.gold && !state.gold }),
    t: () => choose({ threshold: state.threshold === null ? state.lastThreshold : null }),
    d: toggleTheme, "?": () => byId("help").showModal(),
    Escape: () => { state.word = null; hideTip(); markWord(); drawDetail(); },
  };

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const target = event.target;
    if (target.id === "search") {
      if (event.key === "Escape" || event.key === "Enter") { event.preventDefault(); if (event.key === "Enter" && order.length) choose({ n: order[0] }); list.focus(); }
      return;
    }
    if (target.tagName === "SELECT" || target.type === "range") return;
    if (target.type === "radio" && event.key.startsWith("Arrow")) return;
    const layer = /^[1-9]$/.test(event.key) ? Number(event.key) : 0;
    if (layer) { if (layer <= state.method.layers) choose({ layer: layer - 1 }); return; }
    const action = KEYS[event.key];
    if (action) { event.preventDefault(); action(); }
  }

  function listen() {
    document.addEventListener("keydown", onKey);
    list.addEventListener("scroll", drawList, { passive: true });
    byId("search").addEventListener("input", (event) => { state.query = event.target.value; list.scrollTop = 0; orderList(); drawList(); });
    byId("sort").addEventListener("change", (event) => { state.sort = event.target.value; list.scrollTop = 0; orderList(); drawList(); });
    byId("filter")?.addEventListener("change", (event) => { state.filter = event.target.value; list.scrollTop = 0; orderList(); drawList(); });
    byId("copy").addEventListener("click", copyLinks);
    byId("picture").addEventListener("click", savePicture);
    byId("theme").addEventListener("click", toggleTheme);
    byId("help-open").addEventListener("click", () => byId("help").showModal());
    byId("previous").addEventListener("click", () => step(-1));
    byId("next").addEventListener("click", () => step(1));
    byId("list-toggle").addEventListener("click", () => {
      const open = byId("side").classList.toggle("open");
      byId("list-toggle").setAttribute("aria-expanded", String(open));
      if (open) { drawList(); showActive(); }
    });
    let width = window.innerWidth;
    window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; drawList(); drawPair(); } });
  }

  /* On a narrow screen the switches are folded up, so that the alignment is at the top. */
  function foldSwitches() {
    const narrow = matchMedia("(max-width: 56rem)");
    const fold = () => { byId("controls").open = !narrow.matches; };
    narrow.addEventListener("change", fold);
    fold();
  }

  function begin() {
    document.title = data.title;
    byId("title").textContent = data.title;
    const layers = Math.max(...methods.map((m) => m.layers));
    byId("about").textContent = [data.notes, `${sentences.length} sentence pair${sentences.length === 1 ? "" : "s"}`,
      methods.map((m) => m.name).join(", "), layers > 1 ? `${layers} layers` : ""].filter(Boolean).join(" · ");
    const known = { gold: data.gold, check: data.check, judged: data.gold || data.check };
    for (const [what, there] of Object.entries(known)) {
      if (!there) for (const option of document.querySelectorAll(`[data-${what}]`)) option.remove();
    }
    if (typeof DecompressionStream === "undefined") {
      byId("view").append(node("p", { class: "notice", text: "This browser is too old to unpack the numbers in the page (it has no DecompressionStream)." }));
      return;
    }
    firstTheme();
    startFrom(data.start);
    if (data.check) {
      state.sort = byId("sort").value = "doubt";
      orderList();
      state.n = order[0];
    }
    readAddress();
    listen();
    foldSwitches();
    refresh();
    showActive();
    drawList();
  }

  begin();
})();
