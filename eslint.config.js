// What the linter asks of the report page's scripts. The names of the browser that they may use are listed here one by
// one, so that a slip of the pen is not taken for a name, and nothing that talks to a network comes in unnoticed.

const BROWSER = [
  "Blob", "DecompressionStream", "Node", "ResizeObserver", "Response", "URLSearchParams",
  "atob", "clearTimeout", "document", "getComputedStyle", "history", "location", "matchMedia", "performance",
  "requestAnimationFrame", "setTimeout", "window",
];

export default [
  {
    files: ["src/gptm/report/assets/scripts/*.js"],
    languageOptions: {
      sourceType: "module",
      globals: Object.fromEntries(BROWSER.map((name) => [name, "readonly"])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "eqeqeq": "error",
      "no-const-assign": "error",
      "no-dupe-keys": "error",
      "no-func-assign": "error",
      "no-global-assign": "error",
      "no-implicit-globals": ["error", { "lexicalBindings": true }],
      "no-import-assign": "error",
      "no-redeclare": "error",
      "no-self-assign": "error",
      "no-shadow": "error",
      "no-undef": "error",
      "no-unreachable": "error",
      "no-unused-expressions": "error",
      "no-unused-vars": "error",
      "no-useless-assignment": "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
