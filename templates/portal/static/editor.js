// Line numbers beside a text field, and marks at the lines and columns that the checker names in the preview.
// The field stays a plain one: keys, undo, spelling and screen readers are the browser's.
"use strict";

(() => {
  for (const field of document.querySelectorAll("textarea[data-lines]")) {
    const frame = document.createElement("div"), gutter = document.createElement("div"), numbers = document.createElement("div");
    frame.className = "editor";
    gutter.className = "gutter";
    gutter.setAttribute("aria-hidden", "true");
    gutter.append(numbers);
    field.before(frame);
    frame.append(gutter, field);
    field.wrap = "off";
    let faults = [];

    // As many numbers as lines; those with a fault are marked and say it.
    const number = () => {
      const count = field.value.split("\n").length;
      while (numbers.children.length > count) numbers.lastChild.remove();
      while (numbers.children.length < count) {
        const line = document.createElement("div");
        line.textContent = numbers.children.length + 1;
        numbers.append(line);
      }
      [...numbers.children].forEach((line, at) => {
        const here = faults.filter((fault) => fault.line === at + 1);
        line.classList.toggle("bad", here.length > 0);
        line.title = here.map((fault) => fault.text).join("\n");
      });
    };
    const follow = () => { numbers.style.transform = `translateY(${-field.scrollTop}px)`; };
    const select = (fault) => {
      const lines = field.value.split("\n");
      const start = lines.slice(0, fault.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + fault.column - 1;
      const word = /^(\w+|.)/.exec(field.value.slice(start));
      field.closest("details").open = true;
      field.focus();
      field.setSelectionRange(start, start + (word ? word[0].length : 0));
      field.scrollTop = Math.max(0, (fault.line - 3) * parseFloat(getComputedStyle(field).lineHeight));
    };

    field.addEventListener("input", () => { faults = []; number(); });
    field.addEventListener("scroll", follow);
    document.addEventListener("foreseen", () => {
      const places = [...document.querySelectorAll("[data-foreseen] [data-line]")];
      faults = places.map((place) => ({ line: Number(place.dataset.line), column: Number(place.dataset.column), text: place.textContent }));
      field.setAttribute("aria-invalid", faults.length > 0);
      places.forEach((place, at) => place.addEventListener("click", () => select(faults[at])));
      number();
    });
    number();
  }

  // Enter in the template's name keeps the template: it would else press the form's first button, and submit the task.
  const name = document.getElementById("template");
  if (name) {
    name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      name.closest("details").querySelector("button").click();
    });
  }
})();
