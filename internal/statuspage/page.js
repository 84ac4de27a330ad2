"use strict";

// Everything shown comes from status.json; it is asked for twice a second while the page is seen.
const every = 500;
const windowSeconds = 20; // of the timeline
const phases = [
  ["decode", "decode"], ["warmup", "warm-up"], ["apply", "apply"],
  ["storageRoots", "storage roots"], ["accountRoot", "account root"], ["commit", "commit"],
];
const byId = (id) => document.getElementById(id);

byId("phases").append(...[...phases, ["other", "other"], ["rejected", "rejected"]].flatMap(
  ([key, name]) => {
    const mark = document.createElement("i");
    mark.className = key;
    return [mark, name];
  }), " · red line: root-ready lag, where sampled");

function element(name, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}

function time(s) {
  if (s === null || s === undefined) return "";
  if (s < 1e-3) return (s * 1e6).toFixed(0) + " µs";
  if (s < 1) return (s * 1e3).toFixed(s < 0.01 ? 2 : 1) + " ms";
  if (s < 120) return s.toFixed(1) + " s";
  if (s < 7200) return (s / 60).toFixed(0) + " min";
  return (s / 3600).toFixed(1) + " h";
}

function number(n) {
  return Number.isInteger(n) ? n.toLocaleString("en") :
    n.toLocaleString("en", { maximumFractionDigits: n < 10 ? 2 : 1 });
}

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return n.toFixed(i > 0 && n < 100 ? 1 : 0) + " " + units[i];
}

function rows(body, lines) {
  body.replaceChildren(...lines.map(({ cells, bad }) => {
    const tr = document.createElement("tr");
    if (bad) tr.className = "bad";
    for (const c of cells) tr.appendChild(document.createElement("td")).textContent = c;
    return tr;
  }));
}

function showProgress(p) {
  byId("progress").hidden = !p;
  byId("command").textContent = p ? p.command : "";
  if (!p) return;
  byId("share").style.width = (100 * Math.max(p.share, 0)).toFixed(1) + "%";
  const parts = [p.phase];
  if (p.share >= 0) parts.push((100 * p.share).toFixed(1) + " %");
  for (const [name, n] of Object.entries(p.counts || {})) {
    parts.push(number(n) + " " + name.replace(/_per_s$/, "/s").replaceAll("_", " "));
  }
  parts.push(p.remainingSeconds === null ? "time left not known" : time(p.remainingSeconds) + " left");
  byId("progress-text").textContent = parts.join(" · ");
}

function showBlocks(blocks) {
  byId("blocks").hidden = blocks.length === 0;
  const width = 1200, height = 150, shown = blocks.slice(-120);
  const svg = byId("block-chart");
  svg.setAttribute("viewBox", `0 0 ${width} ${height + 14}`);
  const most = Math.max(...shown.map((b) => Math.max(b.total, b.rootLag || 0)), 1e-6);
  const step = width / 120, parts = [];
  shown.forEach((b, i) => {
    const x = i * step;
    let y = height;
    const put = (name, s) => {
      const h = (s / most) * (height - 12);
      y -= h;
      parts.push(element("rect", { class: name, x: x + 0.5, y, width: step - 1, height: Math.max(h, 0) }));
    };
    if (b.error) {
      put("rejected", b.total);
    } else {
      let sum = 0;
      for (const [key] of phases) { put(key, b[key]); sum += b[key]; }
      put("other", Math.max(b.total - sum, 0));
    }
    if (b.rootLag !== null) {
      const at = height - (b.rootLag / most) * (height - 12);
      parts.push(element("path", { class: "lag", d: `M${x} ${at}h${step}` }));
    }
  });
  parts.push(element("text", { x: 2, y: 10 }, time(most)));
  svg.replaceChildren(...parts);
  rows(byId("block-table").tBodies[0], shown.slice(-8).reverse().map((b) => ({
    bad: b.error,
    cells: [number(b.number), number(b.accounts), number(b.slots), time(b.total), time(b.warmup),
      time(b.apply), time(b.storageRoots), time(b.accountRoot), time(b.commit),
      b.rootLag === null ? "not sampled" : time(b.rootLag), b.error || b.mode],
  })));
}

function showTimeline(slots, now) {
  byId("workers").hidden = slots.length === 0;
  const width = 1200, label = 110, line = 18, svg = byId("timeline");
  svg.setAttribute("viewBox", `0 0 ${width} ${slots.length * line + 14}`);
  const from = now - windowSeconds, parts = [];
  const x = (t) => label + Math.max((t - from) / windowSeconds, 0) * (width - label);
  slots.forEach((s, i) => {
    const y = i * line;
    parts.push(element("text", { x: 0, y: y + 12 }, `${s.kind} ${s.number}`));
    const put = (name, t, d, title) => {
      if (d <= 0 || t + d < from) return;
      const a = x(t), b = x(t + d);
      const r = element("rect", { class: name, x: a, y: y + 2, width: Math.max(b - a, 0.4), height: line - 4 });
      r.appendChild(element("title", {}, title));
      parts.push(r);
    };
    for (const j of s.jobs || []) {
      const at = Date.parse(j.at) / 1000;
      put("wait", at - j.wait, j.wait, `waited ${time(j.wait)}`);
      put("turnover", at - j.turnover, j.turnover, `turnover ${time(j.turnover)}`);
      put("busy", at, j.took, `${j.kind}, ${number(j.items)} accounts, ${time(j.took)}`);
    }
  });
  for (let t = 0; t <= windowSeconds; t += 5) {
    parts.push(element("text", { x: x(now - t) - 24, y: slots.length * line + 11 },
      t ? `-${t} s` : "now"));
  }
  svg.replaceChildren(...parts);
}

function showStorage(storage, accounts) {
  byId("storage").hidden = !storage;
  if (!storage) return;
  const lines = [
    ["wall", (r) => time(r.wall_s)], ["workers", (r) => number(r.workers)],
    ["accounts", (r) => number(r.accounts)], ["leaves", (r) => number(r.leaves)],
    ["leaves/s, last minute", (r) => number(Math.round(r.rate_1m.leaves_per_s))],
    ["utilization", (r) => (100 * r.utilization).toFixed(1) + " %"],
    ["processor", (r) => time(r.trie_cpu_s)], ["idle", (r) => time(r.idle_thread_s)],
    ["dispatcher wait", (r) => time(r.dispatcher_wait_s)],
    ["input wait", (r) => time(r.input_wait_s)], ["buffer wait", (r) => time(r.buffer_wait_s)],
    ["turnover p99", (r) => time(r.slot_turnover.p99_us / 1e6)],
    ["written", (r) => bytes(r.bytes_written)],
  ];
  rows(document.querySelector("#storage tbody"),
    lines.map(([name, f]) => ({ cells: [name, f(storage), f(accounts)] })));
}

function showShadow(verdict, c) {
  const p = byId("verdict");
  p.className = verdict;
  const skipped = c && Object.entries(c.skipped || {}).filter(([, n]) => n > 0)
    .map(([k, n]) => `${number(n)} ${k.replaceAll("_", " ")}`).join(", ");
  p.textContent = !c ? "off" : `${verdict}: ${number(c.comparisons)} compared, ` +
    `${number(c.mismatches)} mismatches, ${number(c.failures)} failures` +
    (skipped ? `, skipped ${skipped}` : "");
}

function showActors(actors, system) {
  rows(document.querySelector("#actors tbody"), actors.map((a) => {
    const names = a.path.split("/");
    return {
      bad: a.restarts > 0,
      cells: ["\u2003".repeat(names.length - 1) + names[names.length - 1], number(a.depth),
        number(a.depthMax), number(a.messages), number(a.restarts), number(a.dropped)],
    };
  }));
  byId("system").textContent = `${number(system.deadLetters)} dead letters · ` +
    `${number(system.asks)} asks open · ${number(system.goroutines)} goroutines`;
}

function showStore(m) {
  byId("store").hidden = !m;
  if (!m) return;
  const looks = m.CacheHits + m.CacheMisses;
  byId("store-text").textContent = [
    `${bytes(m.DiskBytes)} on disk`, `log ${bytes(m.LogBytes)}`, `overlay ${bytes(m.Overlay)}`,
    `cache ${bytes(m.CacheBytes)}` + (looks ? `, ${(100 * m.CacheHits / looks).toFixed(1)} % hits` : ""),
    `${number(m.Compactions)} compactions, ${number(m.CompactionsNow)} under way, ` +
      `debt ${bytes(m.CompactionDebt)}`,
    `tables by level ${m.Levels.map((l) => l.Tables).join(" ")}`,
    `${number(m.Stalls)} write stalls` + (m.Stalled ? " (stalled now)" : ""),
  ].join(" · ");
}

function show(s) {
  byId("uptime").textContent = `running for ${time(s.seconds)} · heap ${bytes(s.heapBytes)}` +
    (s.measuring ? "" : " · measuring is off");
  showProgress(s.progress);
  showBlocks(s.blocks);
  showTimeline(s.slots, Date.parse(s.now) / 1000);
  showStorage(s.storage, s.accountTrie);
  showShadow(s.shadowVerdict, s.shadow);
  showActors(s.actors, s.system);
  showStore(s.store);
  document.body.dataset.shown = String(Number(document.body.dataset.shown || 0) + 1);
}

async function tick() {
  try {
    if (!document.hidden) {
      const answer = await fetch("status.json", { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      show(await answer.json());
      byId("stale").hidden = true;
    }
  } catch (e) {
    byId("stale").hidden = false;
  }
  setTimeout(tick, every);
}

tick();
