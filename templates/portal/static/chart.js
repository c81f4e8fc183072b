// The schedule's chart: its pointer, wheel, fingers and keys. Without it the page's links look closer, wider, earlier and
// later, and the table below has the same tasks.
"use strict";

(() => {
  const box = () => document.querySelector("[data-gantt]");
  const svg = () => box().querySelector("svg");

  // ── what is pointed at, and the task that was chosen with the keys ─────────────────────────────────────────
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  let chosen = null, pointer = null;

  // Where the deadline of the task is that is pointed at: beside its bar a mark would be on another one's.
  function showDue(bar) {
    const line = svg().querySelector(".due"), x = bar && bar.dataset.due;
    line.toggleAttribute("hidden", !x);
    if (!x) return;
    const { y, height } = bar.getBBox();
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: y, y2: y + height })) line.setAttribute(name, value);
  }

  function tell(bar, x, y) {
    showDue(bar);
    tip.textContent = bar.dataset.tip;
    tip.hidden = false;
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(8, Math.min(y + 16, innerHeight - tip.offsetHeight - 8))}px`;
  }

  const barAt = (element) => element instanceof Element && element.closest("path[data-tip]");
  document.addEventListener("pointermove", (event) => {
    const bar = barAt(event.target);
    pointer = bar ? [event.clientX, event.clientY] : null;
    if (bar && !stroke) {
      tell(bar, event.clientX, event.clientY);
    } else if (!chosen && !tip.hidden) {
      tip.hidden = true;
      showDue(null);
    }
  });
  document.addEventListener("click", (event) => {
    const bar = barAt(event.target);
    if (bar && bar.dataset.task && performance.now() > drawnUntil) location.href = `/tasks/${encodeURIComponent(bar.dataset.task)}`;
  });

  function choose(bars, bar, again) {
    const wanted = bar || bars.find((each) => each.dataset.task === again);
    for (const each of bars) each.classList.toggle("chosen", each === wanted);
    chosen = wanted ? wanted.dataset.task : null;
    tip.hidden = !wanted;
    if (wanted) {
      const where = wanted.getBoundingClientRect();
      box().setAttribute("aria-label", wanted.dataset.tip);
      tell(wanted, where.left, where.bottom - 10);
    }
  }

  // ── the time that is looked at ─────────────────────────────────────────────────────────────────────────────
  // The page's address says it. Until the chart for it has come, the one that is there is stretched to it.
  let wanted = null, waiting = 0;
  const edges = () => wanted || [Number(box().dataset.from), Number(box().dataset.to)];

  function look(from, to) {
    wanted = [Math.max(from, 0), to];
    stretch();
    clearTimeout(waiting);
    waiting = setTimeout(() => say({ span: null, from: wanted[0].toFixed(1), to: wanted[1].toFixed(1) }), 120);
  }

  function say(changes) {
    const address = new URL(location.href);
    for (const [name, value] of Object.entries(changes)) {
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    }
    history.replaceState(null, "", address);
    document.dispatchEvent(new Event("look"));
  }

  function stretch() {
    const drawn = svg(), width = Number(drawn.dataset.width);
    const [left, right] = [Number(box().dataset.from), Number(box().dataset.to)], [from, to] = wanted;
    const scale = (right - left) / (to - from), shift = (left - from) / (to - from) * width;
    drawn.classList.add("moving");
    drawn.querySelector("[data-moves]").setAttribute("transform", `translate(${shift} 0) scale(${scale} 1)`);
  }

  // The part of the plot's width at which a pointer is, below 0 or above 1 outside of it.
  function partAt(clientX) {
    const drawn = svg(), where = drawn.getBoundingClientRect();
    const unit = where.width / drawn.viewBox.baseVal.width;
    return ((clientX - where.left) / unit - Number(drawn.dataset.left)) / Number(drawn.dataset.width);
  }

  function zoom(factor, part) {
    const [from, to] = edges(), middle = from + part * (to - from);
    const span = Math.min(Math.max((to - from) * factor, 1), 366 * 86400);
    look(middle - part * span, middle + (1 - part) * span);
  }

  function pan(part) {
    const [from, to] = edges(), by = part * (to - from);
    look(from + by, to + by);
  }

  // ── the wheel, and fingers on a touchpad, which come as a wheel with Ctrl ──────────────────────────────────
  document.addEventListener("wheel", (event) => {
    if (!event.target.closest("[data-gantt] svg")) return;
    const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(Math.min(Math.max(event.deltaY, -100), 100) / 250), partAt(event.clientX));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(across / 1000);
    else return; // the page is scrolled
    event.preventDefault();
  }, { passive: false });

  // ── a stroke over the chart looks closer at that time; one finger moves it, two look closer ────────────────
  let stroke = null, drawnUntil = 0;
  const fingers = new Map();

  document.addEventListener("pointerdown", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("[data-gantt] svg") || event.button) return;
    if (event.pointerType === "touch") fingers.set(event.pointerId, event.clientX);
    else stroke = { from: event.clientX, to: event.clientX };
  });
  document.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) {
      const before = [...fingers.values()];
      fingers.set(event.pointerId, event.clientX);
      const now = [...fingers.values()];
      if (now.length === 1) pan(partAt(before[0]) - partAt(now[0]));
      else if (Math.abs(now[0] - now[1]) > 8) zoom(Math.abs(before[0] - before[1]) / Math.abs(now[0] - now[1]), partAt((now[0] + now[1]) / 2));
      drawnUntil = performance.now() + 300;
    } else if (stroke && !event.buttons) {
      lift(event); // the button went up outside of the window
    } else if (stroke) {
      stroke.to = event.clientX;
      if (Math.abs(stroke.to - stroke.from) < 5) return;
      tip.hidden = true;
      const [first, last] = strokeParts(), drawn = svg().querySelector(".stroke"), width = Number(svg().dataset.width);
      drawn.setAttribute("x", first * width);
      drawn.setAttribute("width", (last - first) * width);
    }
  });
  const strokeParts = () => [stroke.from, stroke.to].map((x) => Math.min(Math.max(partAt(x), 0), 1)).sort((a, b) => a - b);

  function lift(event) {
    fingers.delete(event.pointerId);
    if (!stroke || event.pointerType === "touch") return;
    const [first, last] = strokeParts(), long = Math.abs(stroke.to - stroke.from) >= 5 && event.type === "pointerup";
    stroke = null;
    svg().querySelector(".stroke").setAttribute("width", 0);
    if (!long || last <= first) return;
    drawnUntil = performance.now() + 300; // the click that ends the stroke opens no task
    const [from, to] = edges();
    look(from + first * (to - from), from + last * (to - from));
  }
  document.addEventListener("pointerup", lift);
  document.addEventListener("pointercancel", lift);

  // ── keys ───────────────────────────────────────────────────────────────────────────────────────────────────
  document.addEventListener("keydown", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("[data-gantt]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's own
    const bars = [...box().querySelectorAll("path[data-task]")];
    const place = bars.findIndex((bar) => bar.dataset.task === chosen);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const acts = {
      "+": () => zoom(0.5, 0.5), "=": () => zoom(0.5, 0.5), "-": () => zoom(2, 0.5),
      0: () => { wanted = null; clearTimeout(waiting); say({ span: null, from: null, to: null }); },
      Enter: () => { if (place >= 0) location.href = `/tasks/${encodeURIComponent(chosen)}`; },
      Escape: () => choose(bars, null),
    };
    if (step && event.shiftKey) pan(step / 4);
    else if (step && bars.length) choose(bars, bars[place < 0 ? 0 : (place + step + bars.length) % bars.length]);
    else if (event.key in acts) acts[event.key]();
    else return;
    event.preventDefault();
  });

  // ── a new chart has come; what colours mean and which tasks stand out is chosen ────────────────────────────
  document.addEventListener("renewed", (event) => {
    if (!event.target.querySelector("[data-gantt]")) return; // another part of the page: the chart stands as it was
    if (wanted && Math.abs(wanted[0] - box().dataset.from) + Math.abs(wanted[1] - box().dataset.to) > 0.3) stretch();
    else wanted = null;
    tip.hidden = true;
    if (chosen) choose([...box().querySelectorAll("path[data-task]")], null, chosen);
    const bar = pointer && !stroke && barAt(document.elementFromPoint(...pointer));
    if (bar) tell(bar, ...pointer);
  });
  const choices = document.querySelector("[data-look]");
  choices.querySelector("button").hidden = true;
  choices.addEventListener("change", (event) => say({ [event.target.name]: event.target.value }));
  choices.addEventListener("submit", (event) => event.preventDefault());
})();
