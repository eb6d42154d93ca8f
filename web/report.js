/*
 * report.js - the page of `penstock sim --html`: tables, plots and decisions, from the JSON in the page.
 *
 * data is what `penstock sim --json` prints, with `classes` (targets) and `courses`: of each policy's first
 * seed the queue, the waits, the replicas moment by moment, and every decision that changed the number.
 * Times are seconds.
 */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  /* Elements: make("td", {class: "text"}, "a", other, …). */
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  /* Numbers as people read them; the same rules as the text report's. */
  const three = (value) => value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
  function time(s) {
    if (s === 0) return "0 s";
    if (s < 999.5e-6) return three(s * 1e6) + " us";
    if (s < 999.5e-3) return three(s * 1e3) + " ms";
    if (s < 600) return three(s) + " s";
    return s < 6 * 3600 ? three(s / 60) + " min" : three(s / 3600) + " h";
  }
  function span(s) {
    if (!Number.isInteger(s)) return s < 1 && Number.isInteger(s * 1e3) ? s * 1e3 + " ms" : time(s);
    if (s < 120 && s % 60) return s + " s";
    return [[Math.floor(s / 3600), "h"], [Math.floor(s / 60) % 60, "min"], [s % 60, "s"]]
      .filter(([n]) => n > 0).map(([n, unit]) => `${n} ${unit}`).join(" ") || "0 s";
  }
  const grouped = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  function count(value) {
    if (value >= 999.5e3) return value >= 999.5e6 ? three(value / 1e9) + " G" : three(value / 1e6) + " M";
    return Number.isInteger(value) || value >= 99.95 ? grouped(value) : three(value);
  }
  const plain = (value) => (value === 0 ? "0" : value >= 999.5 ? grouped(value) : value < 0.0005 ? "<0.001" : value < 0.0995 ? value.toFixed(3) : three(value));
  const share = (value) => (value >= 1 ? "100 %" : (Math.floor(value * 1e4) / 1e2).toFixed(2) + " %");
  /* A moment of the course: 2:05 h, 2:05:30. */
  function moment(s) {
    const pad = (n) => String(n).padStart(2, "0");
    const whole = Math.floor(s + 1e-9);
    const clock = Math.floor(whole / 3600) + ":" + pad(Math.floor(whole / 60) % 60);
    return whole % 60 ? clock + ":" + pad(whole % 60) : clock;
  }

  /* A figure with half of its interval below it, where there is one. */
  function cell(figure, format) {
    if (!figure) return make("td", null, "-");
    const half = figure.half_width === undefined ? null : make("span", { class: "half" }, "± " + format(figure.half_width));
    return make("td", null, format(figure.mean), half);
  }

  const dot = (colour) => make("span", { class: "dot", style: `background:${colour}` });
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const some = (column, rows) => rows.some((row) => row[column] && row[column].mean !== 0);

  function showHead() {
    const many = data.seeds > 1 ? `mean of ${data.seeds} seeds from ${data.seed}, ± half of the 95 % interval` : `seed ${data.seed}`;
    const cut = data.cut_s > 0 ? `, the first ${span(data.cut_s)} not counted` : "";
    document.title = data.scenario + " - penstock sim";
    byId("name").textContent = data.scenario;
    byId("facts").textContent = `${span(data.horizon_s)}${cut}; ${many}; ${count(data.runs[0].arrivals_total)} arrivals; ${data.file}`;
    byId("slo").textContent = "SLO: of all that arrived, served within the class's target: " +
      data.classes.map((c) => `${c.name} ${span(c.target_s)}`).join(", ") + ".";
  }

  /* One row for each policy: who served whom in time, and for how much. */
  function showShort() {
    const all = data.policies;
    if (all.length < 2) return;
    const lost = (policy) => Object.values(policy.classes).reduce((sum, of) => sum + of.refused.mean + of.expired.mean + of.failed.mean, 0);
    const columns = [
      ["replica-hours", (policy) => policy.replica_hours.mean, plain, Math.min],
      ["cost", (policy) => policy.cost.mean, plain, Math.min],
      ["not served", lost, count, Math.min],
      ...data.classes.map((c) => [c.name, (policy) => policy.classes[c.name].attainment?.mean, share, Math.max, `≤ ${span(c.target_s)}`]),
    ].filter(([title, of]) => title !== "cost" || all.some((policy) => of(policy) > 0));
    const rows = all.map((policy) => make("tr", null, make("td", null, policy.policy), ...columns.map(([, of, format, best]) => {
      const values = all.map(of).filter((value) => value !== undefined);
      const value = of(policy);
      if (value === undefined) return make("td", null, "-");
      const isBest = format(value) === format(best(...values)) && values.some((other) => format(other) !== format(value));
      return make("td", null, isBest ? make("b", null, format(value)) : format(value));
    })));
    const section = byId("short");
    section.hidden = false;
    section.querySelector("table").append(
      make("thead", null, make("tr", null, make("th"), ...columns.map(([title, , , , target]) =>
        make("th", null, title, target ? make("span", { class: "half" }, target) : null)))), make("tbody", null, ...rows));
  }

  const CLASS_COLUMNS = [
    ["P50", "wait_p50_s", time], ["P95", "wait_p95_s", time], ["P99", "wait_p99_s", time],
    ["P50", "ttft_p50_s", time], ["P95", "ttft_p95_s", time], ["P99", "ttft_p99_s", time],
    ["SLO", "attainment", share], ["refused", "refused", count], ["expired", "expired", count],
    ["failed", "failed", count, "spare"],
  ];

  function showClasses() {
    const rows = data.policies.flatMap((policy) => Object.values(policy.classes));
    const columns = CLASS_COLUMNS.filter(([, key, , spare]) => !spare || some(key, rows));
    const body = make("tbody");
    data.classes.forEach((c, index) => {
      if (data.policies.length > 1)
        body.append(make("tr", { class: "group" }, make("td", { colspan: columns.length + 1 }, dot(`var(--class-${index})`), c.name)));
      for (const policy of data.policies) {
        const figures = policy.classes[c.name];
        const name = data.policies.length > 1 ? policy.policy : c.name;
        body.append(make("tr", null, make("td", null, name), ...columns.map(([, key, format]) => cell(figures[key], format))));
      }
    });
    const group = make("tr", null, make("th"), make("th", { colspan: 3 }, "wait"), make("th", { colspan: 3 }, "time to first token"),
      make("th", { colspan: columns.length - 6 }));
    byId("classes").append(make("thead", null, group, make("tr", null, make("th"), ...columns.map(([title]) => make("th", null, title)))), body);
  }

  const REPLICA_COLUMNS = [
    ["replica-hours", "replica_hours", plain], ["serving", "serving", plain], ["start-up", "startup", plain],
    ["drain", "drain", plain], ["warm", "warm", plain, "spare"], ["cost", "cost", plain, "spare"],
    ["ups", "scale_ups", count], ["downs", "scale_downs", count], ["turns", "direction_changes", count],
    ["ups per burst", "ups_per_burst", plain, "spare"], ["ready, least", "replicas_min", count],
    ["existing, most", "replicas_max", count], ["killed in flight", "killed_in_flight", count, "spare"],
  ];

  function showReplicas() {
    const rows = data.policies.map((policy) => {
      const hours = data.runs.filter((run) => run.policy === policy.policy).map((run) => run.replica_hours_by_state);
      const spent = (...states) => ({ mean: mean(hours.map((of) => states.reduce((sum, state) => sum + of[state], 0))) });
      return { ...policy, serving: spent("ready", "suspect"), startup: spent("starting", "loading"), drain: spent("draining"), warm: spent("warm") };
    });
    const columns = REPLICA_COLUMNS.filter(([, key, , spare]) => !spare || some(key, rows));
    byId("replicas").append(
      make("thead", null, make("tr", null, make("th"), ...columns.map(([title]) => make("th", null, title)))),
      make("tbody", null, ...rows.map((row) =>
        make("tr", null, make("td", null, row.policy), ...columns.map(([, key, format]) => cell(row[key], format))))));
  }

  /* The unit of an expectation's metric, by its name. */
  function formatOf(text) {
    if (/\b(wait|ttft)_/.test(text)) return time;
    if (/\b(attainment|in_deadline)\b/.test(text)) return share;
    return /\b(replica_hours|cost|direction_changes_per_hour|ups_per_burst)\b/.test(text) ? plain : count;
  }

  function showVerdicts() {
    const all = data.expectations;
    const breached = all.filter((e) => !e.met).length;
    if (all.length === 0) return;
    const sum = breached === 0 ? `${all.length} of ${all.length} expectations met` : `${breached} of ${all.length} expectations breached`;
    const rows = [...all].sort((a, b) => a.met - b.met).map((e) => {
      const format = formatOf(e.text);
      return make("tr", null,
        make("td", { class: e.met ? "met" : "breach" }, e.met ? "met" : "breach"), make("td", { class: "text" }, `line ${e.line}`),
        make("td", { class: "text" }, e.policy), make("td", { class: "text" }, make("code", null, e.text)),
        make("td", null, format(e.value)), make("td", null, format(e.bound)),
        data.seeds > 1 ? make("td", null, String(e.seed)) : null);
    });
    const titles = [["", "text"], ["", "text"], ["policy", "text"], ["expected", "text"], ["found", ""], ["bound", ""]];
    if (data.seeds > 1) titles.push(["worst seed", ""]);
    const details = make("details", null, make("summary", null, "What was expected"),
      make("div", { class: "wide" }, make("table", null,
        make("thead", null, make("tr", null, ...titles.map(([title, kind]) => make("th", { class: kind }, title)))),
        make("tbody", null, ...rows))));
    details.open = breached > 0;
    byId("verdicts").append(make("p", { class: breached === 0 ? "sum good" : "sum bad" }, sum), details);
  }

  /* What the scaler's words mean. */
  const TERMS = {
    now: "the rate that was measured", ahead: "every deadline over the forecast, one start time ahead",
    backlog: "a backlog above its bound", sla: "a class that waits past its target",
    envelope: "bursts as the last hour saw them", cron: "a floor by the clock", profile: "a floor by profile",
    canary: "a floor for a canary", min: "the minimum",
  };
  const VETOES = {
    max: "more is needed than may be", budget: "the budget is spent", quota: "no more can be had",
    back_off: "starts failed, the next try waits", pending: "replicas have been starting for too long",
    worth: "the need would be over before a replica is ready", hold: "not below for long enough yet",
    needed_soon: "needed again within a start time", inflight: "too much of what would remain is in use",
    gpu: "the GPUs are busy", guard: "errors or latency are not green", rollout: "a rollout runs",
    stale: "inputs are missing or old", restart: "the scaler itself is fresh",
    wait: "with fewer, a wait would exceed its target",
  };
  const word = (words, name) => words[name.replace(/[- ]/g, "_")] || name;

  function reasonOf(decision, by) {
    if (!decision.winner) return [make("span", { class: "veto" }, `by ${by}, which tells no more`)];
    const others = Object.entries(decision.terms).filter(([name]) => name !== decision.winner).map(([name, n]) => `${name} ${n}`);
    const need = decision.terms[decision.winner];
    return [
      make("b", null, `${decision.winner}${need === undefined ? "" : " " + need}`), `: ${word(TERMS, decision.winner)}`,
      make("span", { class: "veto" }, others.length ? `; ${others.join(", ")}` : "",
        decision.backlog_s > 0 ? `; backlog ${time(decision.backlog_s)}` : "", `; a start takes ${time(decision.start_s)}`),
      decision.vetoes.length ? make("span", null, `; but ${decision.vetoes.map((veto) => word(VETOES, veto)).join(", ")}`) : null,
    ];
  }

  const ROWS_MAX = 400;

  /* Those that changed the number, inside the span that the plots show. */
  function showDecisions(body, note, course, from, to, atHover) {
    const run = data.runs.find((each) => each.policy === course.policy);
    const by = run.actuator === "direct" ? run.pilot : run.actuator;
    const inside = course.decisions.filter((d) => d.at >= from && d.at <= to);
    note.textContent = inside.length > ROWS_MAX ? `The first ${ROWS_MAX} of ${inside.length}; a narrower span of the plots shows the others.`
      : inside.length === 0 ? "None in this span." : "";
    body.replaceChildren(...inside.slice(0, ROWS_MAX).map((d) => {
      const up = d.desired > d.before;
      const row = make("tr", { "data-at": d.at }, make("td", null, moment(d.at)),
        make("td", null, `${d.before} → `, make("b", { class: up ? "up" : "down" }, String(d.desired))),
        make("td", { class: "reason" }, ...reasonOf(d, by)));
      row.addEventListener("mouseenter", () => atHover(d.at));
      return row;
    }));
  }

  /* The last decision at or before a moment. */
  function markDecision(body, at) {
    let near = null;
    for (const row of body.rows) {
      row.classList.remove("near");
      if (Number(row.dataset.at) <= at) near = row;
    }
    if (near) {
      near.classList.add("near");
      const box = body.parentElement.parentElement;
      if (near.offsetTop < box.scrollTop || near.offsetTop > box.scrollTop + box.clientHeight - near.offsetHeight)
        box.scrollTop = near.offsetTop - box.clientHeight / 2;
    }
  }

  const WAIT_FLOOR = 1e-3; /* s: below it all waits are alike to the eye; logarithms need one */
  const STATES = [
    ["ready", ["ready"]], ["suspect", ["suspect"]], ["starting", ["starting", "loading"]],
    ["warm", ["warm"]], ["draining", ["draining"]],
  ];
  const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const greatest = (columns) => columns.reduce((most, column) => column.reduce((a, b) => (b > a ? b : a), most), 0);

  /* Three plots of a course as data: columns for uPlot, and what each series is called. The last is on top. */
  const classesFromBelow = data.classes.map((c, i) => ({ ...c, index: i, colour: `class-${i}` })).reverse();
  function queuePlot(course) {
    return {
      title: "Queue, requests", columns: classesFromBelow.map((c) => course.queued[c.index]), most: greatest(course.queued),
      series: classesFromBelow.map((c) => ({ name: c.name, colour: c.colour, format: count })),
    };
  }
  /* Dots: between two moments nobody knows, and where none waited there is none. */
  function waitPlot(course) {
    const columns = classesFromBelow.map((c) => course.worst_wait_s[c.index].map((s) => (s > 0 ? Math.max(s, WAIT_FLOOR) : null)));
    return {
      title: "Worst wait of those that were sent on", columns, log: true, most: greatest(course.worst_wait_s),
      series: classesFromBelow.map((c) => ({
        name: c.name, colour: c.colour, dots: true, target: Math.max(c.target_s, WAIT_FLOOR),
        format: (s) => (s === null ? "none" : s <= WAIT_FLOOR ? "≤ " + time(WAIT_FLOOR) : time(s)),
      })),
    };
  }
  function replicaPlot(course) {
    let sum = course.at.map(() => 0);
    const stacked = [];
    for (const [name, states] of STATES) {
      const own = course.at.map((_, i) => states.reduce((n, state) => n + course.replicas[state][i], 0));
      if (own.every((n) => n === 0)) continue;
      const below = sum;
      sum = own.map((n, i) => below[i] + n);
      stacked.unshift({ name, colour: name, format: count, own, column: sum, fill: true });
    }
    return {
      title: "Replicas by state, and desired", most: greatest([sum, course.desired]), stepped: true,
      columns: [...stacked.map((s) => s.column), course.desired],
      series: [...stacked, { name: "desired", colour: "desired", format: count }],
    };
  }

  const X_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  const plots = []; /* all that are drawn */
  let zooming = false;

  /* One span of time on all of them. */
  function zoomAll(from, u, min, max) {
    if (zooming) return;
    zooming = true;
    for (const plot of plots) if (plot.u !== u) plot.u.setScale("x", { min, max });
    zooming = false;
    from(min, max);
  }

  function axis(extra) {
    return {
      stroke: colourOf("quiet"), grid: { stroke: colourOf("grid"), width: 1 }, ticks: { stroke: colourOf("line"), width: 1, size: 4 },
      font: "11px system-ui, sans-serif", ...extra,
    };
  }

  /* What lies behind the lines: the time that is not counted. */
  function shadeCut(u) {
    if (!(data.cut_s > u.scales.x.min)) return;
    const { left, top, height, width } = u.bbox;
    const right = Math.min(u.valToPos(data.cut_s, "x", true), left + width);
    u.ctx.save();
    u.ctx.fillStyle = colourOf("grid");
    u.ctx.globalAlpha = 0.6;
    u.ctx.fillRect(left, top, right - left, height);
    u.ctx.restore();
  }

  /* Each class's target as a broken line of its colour. */
  function drawTargets(u, plot) {
    u.ctx.save();
    u.ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
    u.ctx.lineWidth = devicePixelRatio;
    for (const s of plot.series) {
      if (s.target === undefined || s.target < u.scales.y.min || s.target > u.scales.y.max) continue;
      const y = u.valToPos(s.target, "y", true);
      u.ctx.strokeStyle = colourOf(s.colour);
      u.ctx.beginPath();
      u.ctx.moveTo(u.bbox.left, y);
      u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
      u.ctx.stroke();
    }
    u.ctx.restore();
  }

  function showLegend(legend, plot, course, index) {
    const hovered = index !== null && index !== undefined;
    const items = plot.series.map((s, i) => {
      const value = hovered ? (s.own || plot.columns[i])[index] : null;
      return make("span", null, dot(colourOf(s.colour)), s.name, hovered ? make("b", null, " " + s.format(value)) : null);
    });
    legend.replaceChildren(...items.reverse(), hovered ? make("span", null, "at ", make("b", null, moment(course.at[index]))) : "");
  }

  /* 1 ms, 10 ms, 100 ms … and how they are written. */
  function decades(u, index, min, max) {
    const found = [];
    for (let power = Math.ceil(Math.log10(min) - 1e-9); power <= Math.log10(max); power++) found.push(Number(`1e${power}`));
    return found;
  }
  const round = (s) => (s < 1 ? Math.round(s * 1e3) + " ms" : Math.round(s).toLocaleString("en") + " s");

  function optionsOf(plot, width, hooks) {
    const stepped = uPlot.paths.stepped({ align: 1 });
    return {
      width, height: 170, legend: { show: false }, padding: [8, 12, 0, 0],
      cursor: { sync: { key: "moment" }, drag: { x: true, y: false }, points: { show: false }, y: false },
      scales: {
        x: { time: false },
        y: plot.log ? { distr: 3, range: [WAIT_FLOOR, Math.max(plot.most * 1.5, 0.1)] } : { range: [0, Math.max(plot.most * 1.08, 1)] },
      },
      axes: [
        axis({ incrs: X_STEPS, values: (u, ticks) => ticks.map(moment), space: 60, size: 26 }),
        axis({
          size: 58, splits: plot.log ? decades : undefined, filter: (u, ticks) => ticks,
          values: (u, ticks) => ticks.map((v) => (plot.log ? round(v) : Number.isInteger(v) ? count(v) : "")),
        }),
      ],
      series: [{}, ...plot.series.map((s) => ({
        stroke: colourOf(s.colour), width: s.fill ? 0 : 1.25, fill: s.fill ? colourOf(s.colour) : undefined,
        points: { show: s.dots === true, size: 3, width: 0, space: 0, fill: colourOf(s.colour) },
        paths: s.dots ? () => null : plot.stepped ? stepped : undefined,
      }))],
      hooks,
    };
  }

  /* One policy's column: its plots below one another, then its decisions. */
  function drawCourse(box, course, most) {
    const body = make("tbody");
    const note = make("p", { class: "note" });
    const mine = [];
    const atHover = (at) => {
      const u = mine[0];
      u.setCursor({ left: u.valToPos(at, "x"), top: 10 });
    };
    [queuePlot(course), replicaPlot(course), waitPlot(course)].forEach((plot, kind) => {
      const legend = make("div", { class: "legend" });
      const frame = make("div", { class: "plot" });
      plot.most = most[kind];
      box.append(make("h3", null, plot.title), legend, frame);
      const hooks = {
        drawClear: [shadeCut],
        draw: [(u) => drawTargets(u, plot)],
        setCursor: [(u) => {
          showLegend(legend, plot, course, u.cursor.idx);
          if (kind === 0 && u.cursor.idx !== null && u.cursor.idx !== undefined) markDecision(body, course.at[u.cursor.idx]);
        }],
        setScale: [(u, key) => {
          if (key !== "x") return;
          zoomAll((min, max) => shown.forEach((each) => each.redecide(min, max)), u, u.scales.x.min, u.scales.x.max);
        }],
      };
      const u = new uPlot(optionsOf(plot, Math.max(box.clientWidth - 34, 200), hooks), [course.at, ...plot.columns], frame);
      mine.push(u);
      plots.push({ u, box });
      showLegend(legend, plot, course, null);
    });
    const redecide = (min, max) => showDecisions(body, note, course, min, max, atHover);
    box.append(make("h3", null, "Decisions that changed the number"), note, make("div", { class: "decisions" }, make("table", null,
      make("thead", null, make("tr", null, make("th", null, "at"), make("th", null, "replicas"), make("th", { class: "text" }, "why"))), body)));
    redecide(-Infinity, Infinity);
    shown.push({ redecide });
  }

  let shown = []; /* the columns */
  let chosen = []; /* which course is in which column */

  function drawCourses() {
    const room = byId("courses");
    for (const plot of plots.splice(0)) plot.u.destroy();
    shown = [];
    room.replaceChildren();
    const courses = chosen.map((index) => data.courses[index]);
    const kinds = courses.map((course) => [queuePlot, replicaPlot, waitPlot].map((of) => of(course).most));
    const most = [0, 1, 2].map((kind) => Math.max(...kinds.map((of) => of[kind]))); /* columns compare by eye */
    const boxes = courses.map(() => make("div", { class: "course" }));
    room.append(...boxes); /* all of them first: the grid gives them their width */
    courses.forEach((course, column) => {
      const select = make("select", { "aria-label": "policy" }, ...data.courses.map((c, i) => make("option", { value: i }, c.policy)));
      select.value = chosen[column];
      select.addEventListener("change", () => {
        chosen[column] = Number(select.value);
        drawCourses();
      });
      boxes[column].append(data.courses.length > 1 ? make("label", null, "policy", select) : make("span", { class: "title" }, course.policy));
      if (course.at.length > 0) drawCourse(boxes[column], course, most);
      else boxes[column].append(make("p", { class: "note" }, "A plain queue has no course: nothing is scaled."));
    });
  }

  function showCourses() {
    const last = data.courses.length - 1;
    chosen = last > 0 ? [0, last] : [0];
    byId("course-note").textContent = `${data.seeds > 1 ? `Seed ${data.seed}. ` : ""}${last > 0 ? "Two policies beside one another, on the same scales. " : ""}` +
      "Drag over a plot to look closer, double-click to see all. " +
      `${data.cut_s > 0 ? "What is shaded is not counted. " : ""}Broken lines are the classes' targets.`;
    drawCourses();
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", drawCourses);
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      for (const plot of plots) plot.u.setSize({ width: Math.max(plot.box.clientWidth - 34, 200), height: 170 });
    });
  }

  showHead();
  showVerdicts();
  showShort();
  showClasses();
  showReplicas();
  showCourses();
})();
