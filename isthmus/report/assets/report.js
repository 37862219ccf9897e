"use strict";
// The theme: the system's, until the button says otherwise.
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const stored = () => { try { return localStorage.getItem("isthmus-theme"); } catch { return null; } };
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  if (stored()) root.dataset.theme = stored();
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("isthmus-theme", root.dataset.theme); } catch { /* a page without storage */ }
    dispatchEvent(new Event("themechange"));
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => { d.open = true; }));
  document.querySelectorAll("button[data-copy]").forEach(b => b.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById(b.dataset.copy).textContent);
      b.textContent = "copied";
    } catch { b.textContent = "select the text"; }
  }));
})();
