// The editor of models: CodeMirror in the place of a text field, with the colours of PSL, line numbers, and marks at the
// places of faults, which come with the preview. The form sends the field, which is all there is without a script.
"use strict";

(() => {
  if (!window.CodeMirror) return; // it did not come: the field is still there
  const { bracketMatching, diagnosticCount, EditorView, indentOnInput, indentUnit, keymap, StreamLanguage, Tag } = CodeMirror;

  // ── the colours: patterns of TextMate's grammar in etc/editors, in the classes that the pages of models use ─────
  const CLASSES = [
    ["comment", "c"], ["string", "s"], ["constant.numeric", "m"], ["keyword.other.unit", "kp"], ["keyword.operator", ""],
    ["support.constant", "no"], ["support.function", "nb"], ["variable.language", "bp"], ["storage", "kt"], ["keyword", "k"],
  ];
  const classOf = (scope) => CLASSES.find(([start]) => scope.startsWith(start))?.[1] || null;
  const tokenTable = Object.fromEntries(CLASSES.filter(([, name]) => name).map(([, name]) => [name, Tag.define()]));

  function languageOf(grammar) {
    const patterns = grammar.patterns.map(({ name = "", match, begin, end, captures = {} }) => ({
      name: classOf(name),
      start: new RegExp(match || begin, "y"),
      end: end && new RegExp(end, "g"),
      parts: Object.entries(captures).map(([group, part]) => [Number(group), classOf(part.name)]),
    }));
    const word = /[A-Za-z_]\w*/y;

    function token(stream, state) {
      if (state.rest.length) { // of a match whose parts have colours of their own
        const [to, name] = state.rest.shift();
        stream.pos = to;
        return name;
      }
      if (state.end) return skipTo(stream, state);
      if (stream.eatSpace()) return null;
      for (const { name, start, end, parts } of patterns) {
        start.lastIndex = stream.pos;
        const found = start.exec(stream.string);
        if (!found || !found[0]) continue;
        if (parts.length) return divide(stream, state, found, parts);
        stream.pos = start.lastIndex;
        if (!end) return name;
        Object.assign(state, { end, name });
        return skipTo(stream, state);
      }
      word.lastIndex = stream.pos;
      if (word.test(stream.string)) {
        stream.pos = word.lastIndex;
        return null;
      }
      const mark = stream.next();
      if (mark === "{") state.depth += 1;
      if (mark === "}") state.depth = Math.max(0, state.depth - 1);
      return null;
    }

    function skipTo(stream, state) {
      const name = state.name;
      state.end.lastIndex = stream.pos;
      const found = state.end.exec(stream.string);
      if (found) Object.assign(state, { end: null, name: null });
      stream.pos = found ? found.index + found[0].length : stream.string.length;
      return name;
    }

    function divide(stream, state, found, parts) {
      let at = found.index;
      const pieces = [];
      for (const [group, name] of parts) {
        const from = stream.string.indexOf(found[group], at);
        if (from > at) pieces.push([from, null]);
        at = from + found[group].length;
        pieces.push([at, name]);
      }
      const [to, name] = pieces.shift();
      state.rest = pieces;
      stream.pos = to;
      return name;
    }

    return StreamLanguage.define({
      name: "psl",
      startState: () => ({ depth: 0, end: null, name: null, rest: [] }),
      copyState: (state) => ({ ...state, rest: [...state.rest] }),
      token,
      tokenTable,
      indent: (state, after, context) => context.unit * Math.max(0, state.depth - (after.startsWith("}") ? 1 : 0)),
      languageData: { commentTokens: { block: { open: "(*", close: "*)" } }, indentOnInput: /^\s*\}$/ },
    });
  }

  // ── the editor ──────────────────────────────────────────────────────────────────────────────────────────────────

  // Where a browser itself types over a selection it sets styles, which the page's policy reports.
  function replaceSelected(event, view) {
    if (event.inputType !== "insertText" || event.isComposing || !event.data || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  }

  function edit(field) {
    const label = field.labels[0], frame = document.createElement("div");
    frame.className = "editor source";
    label.id ||= `${field.id}-label`;
    const help = field.getAttribute("aria-describedby"); // of its keys
    const attributes = { tabindex: "0", "aria-labelledby": label.id, "aria-describedby": help };
    const view = new EditorView({
      doc: field.value,
      parent: frame,
      extensions: [
        EditorView.cspNonce.of(document.querySelector("script[nonce]").nonce),
        CodeMirror.lineNumbers(),
        CodeMirror.lintGutter(),
        CodeMirror.history(),
        CodeMirror.highlightSpecialChars(),
        CodeMirror.search({ top: true }),
        bracketMatching(),
        indentOnInput(),
        indentUnit.of("  "),
        languageOf(JSON.parse(document.getElementById(field.dataset.grammar).textContent)),
        CodeMirror.syntaxHighlighting(CodeMirror.tagHighlighter(Object.entries(tokenTable).map(([name, tag]) => ({ tag, class: name })))),
        // Tab is not among the keys: it leaves the editor, as it leaves every field.
        keymap.of([{ key: "F8", run: CodeMirror.nextDiagnostic }, ...CodeMirror.searchKeymap, ...CodeMirror.historyKeymap, ...CodeMirror.defaultKeymap]),
        EditorView.domEventHandlers({ beforeinput: replaceSelected }),
        EditorView.contentAttributes.of((now) => ({ ...attributes, "aria-invalid": String(diagnosticCount(now.state) > 0) })),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          const text = update.state.doc.toString();
          if (text === field.value) return;
          field.value = text;
          field.dispatchEvent(new Event("input", { bubbles: true }));
        }),
      ],
    });
    field.hidden = true;
    field.after(frame);
    document.getElementById(help).hidden = false;

    // What others put into the field (a file, what was typed before) is in the editor, too.
    const follow = () => {
      if (field.value !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: field.value } });
    };
    field.addEventListener("input", follow);
    addEventListener("pageshow", follow); // browsers bring fields back by themselves
    label.addEventListener("click", () => view.focus());
    field.closest("details")?.addEventListener("toggle", () => view.requestMeasure());

    // The checker counts characters, the editor halves of some of them.
    function span(place) {
      const { doc } = view.state, line = doc.line(Math.min(Math.max(1, Number(place.dataset.line)), doc.lines));
      const before = [...line.text].slice(0, Math.max(0, Number(place.dataset.column) - 1)).join("").length;
      const word = /^(?:\w+|.)/u.exec(line.text.slice(before));
      return { from: line.from + before, to: line.from + before + (word ? word[0].length : 0) };
    }
    let marked = null; // the text and its faults as they were last marked: to mark the same anew would close their tooltip
    document.addEventListener("foreseen", () => {
      const places = [...document.querySelectorAll("[data-foreseen] [data-line]")];
      const faults = places.map((place) => ({ ...span(place), severity: "error", message: place.dataset.fault }));
      const { doc } = view.state, told = JSON.stringify(faults);
      if (marked && marked.doc === doc && marked.told === told) return;
      marked = { doc, told };
      view.dispatch(CodeMirror.setDiagnostics(view.state, faults));
    });
    document.addEventListener("click", (event) => {
      const place = event.target.closest("[data-line]");
      if (!place) return;
      const { from, to } = span(place), box = field.closest("details");
      if (box) box.open = true;
      view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
      frame.scrollIntoView({ block: "nearest" });
    });
  }

  document.querySelectorAll("textarea[data-grammar]").forEach(edit);
})();
