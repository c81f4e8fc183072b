// What makes the pages live: parts that are asked for anew when something happens, the preview of a submission, undoing.
// Every page can be read and every form be sent without it.
"use strict";

(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const cookie = `zone=${zone}`;
  if (zone && !document.cookie.split("; ").includes(cookie)) {
    document.cookie = `${cookie}; path=/; max-age=31536000; samesite=lax`;
    // The first page came in the server's zone. Once: where cookies are refused it stays so.
    const leave = document.querySelector("form[method=post] .banner, form[action='/login/link']");
    if (document.cookie.includes(cookie) && !leave) location.reload();
  }

  // On a phone the menu is wider than the window.
  const here = document.querySelector(".top nav [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2;

  // ── parts of the page that follow what happens ─────────────────────────────────────────────────────────────
  const parts = [...document.querySelectorAll("[data-live]")].map((element) => ({
    element, name: element.dataset.live, every: Number(element.dataset.every || 1000), due: 0, busy: false, stale: false,
  }));

  // A second reload would begin the first anew: where the answer is slow, none would ever come to its end. Where
  // something was typed, typed.js has the reader log in on the page.
  let leaving = false;
  function toTheLogin() {
    if (leaving) return;
    leaving = true;
    if (document.dispatchEvent(new Event("loggedout", { cancelable: true }))) location.reload();
  }
  document.addEventListener("loggedin", () => {
    leaving = false;
    changed();
  });

  async function renew(part) {
    part.busy = true;
    part.stale = false;
    const began = performance.now();
    try {
      const looked = location.href;
      const address = new URL(looked);
      address.searchParams.set("part", part.name);
      const answer = await fetch(address, { headers: { Accept: "text/html" } });
      // The login has ended: the answer is its page, not a part of ours.
      if (answer.redirected || answer.status === 401) toTheLogin();
      else if (answer.ok) {
        const text = await answer.text();
        if (looked === location.href) replace(part.element, text);
        else Object.assign(part, { stale: true, due: 0 }); // the reader has moved on: what came is not what he looks at
        seen = new Date();
      }
    } catch {
      // The stream's own state says that cosched is away; what is on the page stays.
    }
    // Whoever draws slowly is asked less often.
    // What is wanted at once (due at 0, by "look") does not wait.
    if (!part.stale || part.due) part.due = performance.now() + Math.max(part.every, 4 * (performance.now() - began));
    part.busy = false;
  }

  // The page's address says what is looked at; where a script changes it, the parts come at once.
  document.addEventListener("look", () => {
    for (const part of parts) Object.assign(part, { stale: true, due: 0 });
    turn();
  });

  // What a program writes is followed at its end, until somebody scrolls up in it.
  const atEnd = (box) => "end" in box.dataset && box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
  for (const box of document.querySelectorAll("[data-end]")) box.scrollTop = box.scrollHeight;

  // Only what differs is changed: a selection, the focus, a scrolled box, a screen reader's place stay as they are. What
  // the reader has opened and ticked is his.
  const readers = { open: "details", checked: "input", hidden: "[data-tick-every]" };
  const morph = (element, text) => Idiomorph.morph(element, text, {
    morphStyle: "innerHTML",
    ignoreActiveValue: true,
    callbacks: { beforeAttributeUpdated: (name, each) => !(name in readers && each.matches(readers[name])) },
  });
  function replace(element, text) {
    const boxes = new Set(element.querySelectorAll("[data-end]"));
    const left = new Set([...boxes].filter((box) => !atEnd(box)));
    morph(element, text);
    for (const box of element.querySelectorAll("[data-end]")) if (!left.has(box)) box.scrollTop = box.scrollHeight;
    element.dispatchEvent(new CustomEvent("renewed", { bubbles: true }));
  }

  function turn() {
    if (document.hidden || leaving) return;
    const now = performance.now();
    for (const part of parts) if (part.stale && !part.busy && now >= part.due) renew(part);
  }

  function changed() {
    for (const part of parts) part.stale = true;
  }

  // Nothing old may look as if it were of now.
  const gone = document.createElement("div");
  gone.className = "banner bad lost";
  gone.setAttribute("role", "alert");
  gone.hidden = true;
  document.querySelector("main").before(gone);
  let seen = new Date(), fading = 0;
  function lost() {
    if (document.hidden || leaving) return;
    gone.textContent = `The connection to cosched is lost. What you see is of ${seen.toLocaleTimeString()}.`;
    gone.hidden = false;
    document.body.classList.add("old");
  }

  const lamp = document.querySelector("[data-follow]");
  function light(on) {
    clearTimeout(fading);
    if (on) {
      gone.hidden = true;
      document.body.classList.remove("old");
    } else {
      fading = setTimeout(lost, 3000); // a short break is none
    }
    const text = on ? "followed live" : "not followed live";
    lamp.classList.toggle("on", on);
    lamp.setAttribute("aria-label", text);
    lamp.title = text;
  }
  if (parts.length && lamp && document.querySelector(".state .domain")) {
    let stream = null, known = false, again = 0;
    const follow = () => {
      stream = new EventSource("/api/v1/events");
      for (const kind of ["task", "plan", "hosts", "reservation", "reset"]) stream.addEventListener(kind, changed);
      stream.addEventListener("ready", () => { if (known) changed(); known = true; seen = new Date(); });
      stream.onopen = () => light(true);
      stream.onerror = () => {
        light(false);
        // Browsers come again by themselves where nobody answers, but not after an answer that is no stream: a
        // proxy's while cosched is started again, or ours that there are too many.
        if (stream.readyState === EventSource.CLOSED) again = setTimeout(follow, 5000);
      };
    };
    const leave = () => {
      clearTimeout(again);
      stream.close();
      light(false);
    };
    follow();
    document.addEventListener("loggedin", () => { leave(); follow(); });
    addEventListener("pagehide", leave);
    // A browser has six connections to a server: tabs that nobody looks at give theirs back.
    document.addEventListener("visibilitychange", () => {
      leave();
      if (!document.hidden) follow();
    });
    setInterval(turn, 200);
    setInterval(changed, 10000); // time goes by, also where nothing happens
  }

  // ── what would come of a submission ────────────────────────────────────────────────────────────────────────
  const form = document.querySelector("form[data-preview]");
  let wrong = 0; // milliseconds by which this machine's clock is ahead of the server's
  if (form) {
    const way = performance.getEntriesByType("navigation")[0]; // which some browsers keep to themselves
    const came = Date.now() - (way ? performance.now() - way.responseStart : 0);
    wrong = came - 1000 * Number(form.dataset.now);
    if (Math.abs(wrong) < 5000) wrong = 0; // the page was under way for as long
    const shown = document.querySelector("[data-foreseen]");
    const hint = shown.innerHTML;
    // On a phone the preview is below the form: what it comes to stands above the button, too.
    const near = form.querySelector("[data-near]"), narrow = matchMedia("(max-width: 860px)");
    const show = (text) => {
      morph(shown, text);
      const verdict = narrow.matches ? [...shown.querySelectorAll(".verdict, .places, .offer, .empty")] : [];
      morph(near, verdict.map((each) => each.outerHTML).join(""));
      for (const each of [shown, near]) each.classList.remove("stale");
    };
    show(hint);
    narrow.addEventListener("change", () => show(shown.innerHTML));
    let asked = 0, timer = 0;
    const ask = async () => {
      const mine = ++asked;
      const lacks = [...form.elements].some((each) => (each.required || "needed" in each.dataset) && !each.value.trim());
      if (lacks && !form.elements.model?.value.trim()) { // a model tells something before there is a command
        show(hint);
        return;
      }
      try {
        const answer = await fetch(form.dataset.preview, { method: "POST", body: fields() });
        const text = await answer.text();
        if (answer.status === 401) toTheLogin();
        if (mine !== asked) return; // a later answer is on its way
        if (!answer.ok) return; // nor is this one an answer: what is shown stays pale
        show(text);
        document.dispatchEvent(new Event("foreseen"));
      } catch {
        // Nobody answers: what is shown stays pale, as it may not be true any more.
      }
    };
    const fields = () => {
      const all = new FormData(form);
      for (const [name, value] of [...all]) if (value instanceof File) all.delete(name); // its text is in the field beside
      return all;
    };
    for (const chooser of form.querySelectorAll("[data-into]")) {
      chooser.addEventListener("change", async () => {
        const file = chooser.files[0], most = Number(chooser.dataset.most);
        const large = file && file.size > most;
        chooser.setCustomValidity(large ? `This file has ${(file.size / 1048576).toFixed(1)} MiB: at most ${most / 1048576} can be sent.` : "");
        if (large) chooser.reportValidity();
        if (!file || large) return;
        const field = form.elements[chooser.dataset.into];
        field.value = await file.text();
        field.dispatchEvent(new Event("input", { bubbles: true })); // an editor may stand in its place
        const name = form.elements[`${chooser.dataset.into}_name`];
        if (name) name.value = file.name;
        soon(0);
      });
    }
    const soon = (wait) => {
      for (const each of [shown, near]) each.classList.add("stale");
      clearTimeout(timer);
      timer = setTimeout(ask, wait);
    };
    form.addEventListener("input", () => soon(180));
    document.addEventListener("click", (event) => {
      const chip = event.target.closest("[data-ahead], [data-deadline]");
      if (!chip) return;
      const field = form.elements.deadline;
      if ("deadline" in chip.dataset) field.value = chip.dataset.deadline;
      else field.value = chip.dataset.ahead === "" ? "" : inSeconds(Number(chip.dataset.ahead));
      soon(0);
    });
    // Enter in the template's name keeps the template: it would else press the form's first button, and submit the task.
    document.getElementById("template")?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      event.target.closest("details").querySelector("button").click();
    });
    const again = () => { if (!document.hidden) ask(); };
    setInterval(again, 15000); // the schedule moves on
    document.addEventListener("loggedin", () => soon(0));
    soon(0);
  }

  // By the server's clock, which looks at deadlines: the browser's may be wrong.
  function inSeconds(ahead) {
    const then = new Date(Date.now() - wrong + ahead * 1000);
    const two = (value) => String(value).padStart(2, "0");
    return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}T${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}`;
  }

  // ── all rows of a list are ticked at once ────────────────────────────────────────────────────────────────────
  const showTickEvery = () => document.querySelectorAll("[data-tick-every]").forEach((each) => { each.hidden = false; });
  showTickEvery();
  document.addEventListener("renewed", showTickEvery);
  document.addEventListener("change", (event) => {
    if (!("tickEvery" in event.target.dataset)) return;
    for (const each of document.querySelectorAll(".tick [form='chosen']")) each.checked = event.target.checked;
  });
  const selected = document.querySelector("[data-selected]");
  const countSelected = () => { selected.textContent = `${document.querySelectorAll(".tick [form='chosen']:checked").length} selected:`; };
  if (selected) for (const kind of ["change", "renewed"]) document.addEventListener(kind, countSelected);

  // ── cancelling what waits, and what ends something else for good, can be undone for some seconds ─────────────
  // Until then nothing is sent: the task keeps its number and its place. The server asks once more where it has begun.
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.setAttribute("role", "status");
  document.body.append(toast);
  let sendNow = null;
  // What is pressed twice, as its answer is slow to come, is not to be done twice; who comes back to the page may.
  let underWay = new WeakMap();
  addEventListener("pageshow", () => { underWay = new WeakMap(); });
  function once(event) {
    if (event.defaultPrevented || event.target.method !== "post") return;
    if (performance.now() < underWay.get(event.target)) event.preventDefault();
    else underWay.set(event.target, performance.now() + 30000);
  }
  document.addEventListener("submit", (event) => {
    const sent = event.target, button = event.submitter;
    const ticked = [...document.querySelectorAll("[form='chosen']:checked")];
    const several = "undoChosen" in sent.dataset && button && button.value === "cancel"
      && ticked.length && ticked.every((each) => "waits" in each.dataset);
    if (!several && !sent.dataset.undo) return once(event);
    event.preventDefault();
    if (sendNow) sendNow();
    const body = new URLSearchParams(new FormData(sent, button)), address = sent.action;
    const what = several ? (ticked.length === 1 ? `Task ${ticked[0].value}` : `${ticked.length} tasks`) : sent.dataset.undo;
    const fate = sent.dataset.fate || "cancelled"; // also says that the page is not renewed by itself
    const until = performance.now() + 8000;
    const end = () => {
      clearInterval(clock);
      removeEventListener("pagehide", sendNow);
      toast.replaceChildren();
      sendNow = null;
    };
    const send = sendNow = async () => {
      end();
      let answer;
      try {
        answer = await fetch(address, { method: "POST", body, keepalive: true });
      } catch {
        again();
        return;
      }
      const arrived = new URL(answer.url), path = arrived.pathname; // it has begun, the login has ended, or there is a fault: its page says so
      const elsewhere = path.endsWith("/cancel") || path.startsWith("/login") || arrived.searchParams.has("refused");
      const row = sent.dataset.fate && sent.closest("tr, li"), last = row && row.parentElement.children.length === 1;
      if (!answer.ok || elsewhere || last) location.href = answer.url;
      else if (row) row.remove();
      else changed();
      const names = body.getAll("task"); // what was ticked meanwhile is for something else
      if (several) for (const each of document.querySelectorAll("[form='chosen']:checked")) if (names.includes(each.value)) each.checked = false;
    };
    // It may not have arrived: who has been told that it will be done is told that, too.
    const again = () => {
      const failed = document.createElement("span"), retry = document.createElement("button"), leave = document.createElement("button");
      failed.textContent = `cosched does not answer: ${what} may not be ${fate}.`;
      retry.textContent = "Try again";
      retry.addEventListener("click", send);
      leave.textContent = "Leave it";
      leave.addEventListener("click", () => toast.replaceChildren());
      toast.replaceChildren(failed, retry, leave);
      retry.focus();
    };
    const words = document.createElement("span"), undo = document.createElement("button"), now = document.createElement("button");
    const say = () => { words.textContent = `${what} will be ${fate} in ${Math.ceil((until - performance.now()) / 1000)} s.`; };
    const clock = setInterval(() => { if (performance.now() >= until) sendNow(); else say(); }, 500);
    say();
    undo.textContent = "Undo";
    undo.addEventListener("click", end);
    now.textContent = `${button?.textContent || "Cancel"} now`;
    now.addEventListener("click", () => sendNow());
    words.setAttribute("aria-live", "off"); // the seconds would be read one by one
    toast.replaceChildren(words, undo, now);
    addEventListener("pagehide", sendNow);
    undo.focus();
  });
})();
