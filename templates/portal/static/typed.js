// What somebody has typed into a form is not lost: not when the login ends, not by a refusal, not by the browser's Back.
// Start at "loggedout", which portal.js sends, and at the end of this file.
"use strict";

(() => {
  const page = location.pathname + location.search;
  const user = () => document.querySelector(".who")?.textContent || "";
  const known = Boolean(document.querySelector(".state .domain")); // else this is the login, or a page that tells of a fault

  // ── what was typed: neither what pages set, nor files, nor secrets ────────────────────────────────────────────
  const ours = (form) => form.method === "post" && !["/logout", "/login", "/login/link"].includes(form.getAttribute("action"));
  const mayKeep = (field) => field.name && ("typed" in field.dataset || !["hidden", "file", "password", "submit", "button", "fieldset"].includes(field.type));

  function changed(field) {
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    if (field.type === "file") return field.files.length > 0;
    if (field.multiple && field.options) return [...field.options].some((each) => each.selected !== each.defaultSelected);
    if (field.options) return field.selectedIndex !== Math.max(0, [...field.options].findIndex((each) => each.defaultSelected));
    return field.type !== "hidden" && "defaultValue" in field && field.value !== field.defaultValue;
  }

  function valueOf(field) {
    if (field.type === "checkbox" || field.type === "radio") return field.checked;
    return field.multiple && field.options ? [...field.selectedOptions].map((each) => each.value) : field.value;
  }

  function typedInto(form) {
    const fields = [...form.elements].filter(mayKeep);
    return [form.getAttribute("action"), fields.map((field) => [field.name, valueOf(field)])];
  }

  const typed = () => [...document.forms].filter((form) => ours(form) && [...form.elements].some(changed));

  function typeInto([action, fields], marked) {
    const form = [...document.forms].find((each) => ours(each) && each.getAttribute("action") === action);
    if (!form) return;
    const left = [...form.elements].filter(mayKeep); // several may have one name: they come in their order
    for (const [name, value] of fields) {
      const place = left.findIndex((each) => each.name === name);
      if (place < 0) continue;
      const [field] = left.splice(place, 1);
      if (JSON.stringify(value) === JSON.stringify(valueOf(field))) continue;
      if (typeof value === "boolean") field.checked = value;
      else if (Array.isArray(value)) for (const each of field.options) each.selected = value.includes(each.value);
      else field.value = value;
      for (let box = field.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (!marked) return;
    const note = document.createElement("p");
    note.className = "banner";
    note.setAttribute("role", "status");
    note.textContent = "What you had typed before you logged in again is back; files are to be chosen anew.";
    form.prepend(note);
  }

  function keep(key, forms) {
    try {
      if (forms.length) sessionStorage.setItem(key, JSON.stringify({ page, user: user(), forms: forms.map(typedInto) }));
      else sessionStorage.removeItem(key);
    } catch {
      // There is no room for it: it is as it was without us.
    }
  }

  function taken(key) {
    const kept = JSON.parse(sessionStorage.getItem(key) || "null");
    sessionStorage.removeItem(key);
    return kept && kept.user === user() ? kept : null;
  }

  // ── the login has ended: log in again, on the page, and go on ─────────────────────────────────────────────────
  document.addEventListener("loggedout", (event) => {
    if (!typed().length) return;
    event.preventDefault();
    keep("sent", typed()); // for who goes to the login all the same
    logInAgain().catch(() => location.reload());
  });

  async function logInAgain() {
    const login = await asDocument(await fetch(`/login?next=${encodeURIComponent(page)}`));
    const form = login.querySelector("form[action='/login']"), help = login.querySelector(".login .help");
    const dialog = document.createElement("dialog"), title = document.createElement("h2"), said = document.createElement("p");
    const [name, password] = [form.elements.name, form.elements.password];
    dialog.className = "again";
    dialog.setAttribute("aria-labelledby", "again");
    title.id = "again";
    title.textContent = "Log in again";
    said.textContent = "Your login has ended. What you have typed stays as it is.";
    said.setAttribute("role", "status");
    form.className = "";
    form.querySelector("h1").replaceWith(title, said);
    help.append(" Open it in another tab, and this page goes on.");
    name.value = user();
    name.autofocus = false;
    password.autofocus = true;
    dialog.append(form, help);
    document.body.append(dialog);

    const refuse = (words) => {
      said.textContent = words;
      said.className = "banner bad";
      password.value = "";
      password.focus();
    };
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        const body = new URLSearchParams(new FormData(form));
        const answer = await fetch("/login", { method: "POST", body, redirect: "manual", headers: { Accept: "text/html" } });
        if (answer.type !== "opaqueredirect") refuse(await fault(answer));
        else if (!await goOn()) refuse("The login did not hold: does this browser keep cookies of this page?");
      } catch {
        refuse("cosched does not answer. Try again in a moment.");
      }
    });

    // Logged in in another tab is logged in.
    const look = setInterval(() => { if (!document.hidden) goOn().catch(() => {}); }, 3000);
    let done = false;
    async function goOn() {
      const answer = await fetch(partOf("who"), { redirect: "manual", headers: { Accept: "text/html" } });
      if (answer.type === "opaqueredirect" || answer.status === 401) return false;
      const now = await asDocument(answer), token = now.querySelector("[name=csrf_token]");
      if (done || !now.querySelector(".who") || !token) return done;
      done = true;
      clearInterval(look);
      if (now.querySelector(".who").textContent !== user()) {
        sessionStorage.removeItem("sent"); // what one has typed is not another's
        location.reload();
        return true;
      }
      for (const field of document.querySelectorAll("[name=csrf_token]")) field.value = token.value;
      sessionStorage.removeItem("sent");
      dialog.close();
      dialog.remove();
      document.dispatchEvent(new Event("loggedin"));
      return true;
    }
    dialog.addEventListener("close", () => { if (!done) location.reload(); }); // Escape: to the login's own page
    dialog.showModal();
  }

  function partOf(name) {
    const address = new URL(location.href);
    address.searchParams.set("part", name);
    return address;
  }

  async function asDocument(answer) {
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  }

  async function fault(answer) {
    if ((answer.headers.get("Content-Type") || "").includes("json")) return (await answer.json()).detail;
    return (await asDocument(answer)).querySelector(".banner.bad")?.textContent || "That did not work. Try again.";
  }

  // ── what was sent is there again where it is refused; what was typed, where the reader comes back ─────────────
  const entry = history.state?.entry || crypto.getRandomValues(new Uint32Array(2)).join("-");
  history.replaceState({ ...history.state, entry }, "");

  let ended = false;
  document.addEventListener("submit", (event) => {
    if (event.target.getAttribute("action") === "/logout") {
      ended = true;
      sessionStorage.clear();
    } else if (!event.defaultPrevented && ours(event.target)) {
      keep("sent", [event.target]);
    }
  });
  addEventListener("pagehide", () => { if (known && !ended) keep(`typed ${entry}`, typed()); });
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    sessionStorage.setItem("back", entry); // its keys and tokens are old: it comes anew
    location.reload();
  });

  if (known) {
    const before = document.referrer && new URL(document.referrer).pathname;
    const cameBack = sessionStorage.getItem("back") === entry || performance.getEntriesByType("navigation")[0]?.type === "back_forward";
    const sent = taken("sent"), left = taken(`typed ${entry}`);
    sessionStorage.removeItem("back");
    // The submit form comes back from a refusal as the server has it.
    const refused = new URLSearchParams(location.search).has("refused");
    if (sent && refused) for (const each of sent.forms) if (each[0] !== "/submit") typeInto(each);
    const again = !refused && sent && sent.page === page && before.startsWith("/login");
    if (again) for (const each of sent.forms) typeInto(each, true);
    if (left && cameBack && !refused && !again) for (const each of left.forms) typeInto(each);
  }
})();
