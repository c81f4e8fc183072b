// What the pages' editor needs of CodeMirror; build.py bundles it into the global CodeMirror of codemirror.js there.
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { bracketMatching, indentOnInput, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
export { diagnosticCount, lintGutter, nextDiagnostic, setDiagnostics } from "@codemirror/lint";
export { search, searchKeymap } from "@codemirror/search";
export { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
export { Tag, tagHighlighter } from "@lezer/highlight";
