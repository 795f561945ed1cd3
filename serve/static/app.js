// Optional conveniences. All pages work without this script.
"use strict";

const entries = () => [...document.querySelectorAll(".entry")];

// The filter hides entries that do not match as the user types.
const filter = document.getElementById("filter");
if (filter) {
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase();
    for (const e of entries()) {
      const name = e.querySelector(".name") || e;
      e.classList.toggle("off", !name.textContent.toLowerCase().includes(words));
    }
  });
}

// j and k move through the links, u goes up one level, / focuses the address bar.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, textarea, select")) return;
  const links = () => [...document.querySelectorAll("main a[href]")].filter((a) => a.offsetParent);
  const step = (by) => {
    const all = links();
    const next = all[Math.min(Math.max(all.indexOf(document.activeElement) + by, 0), all.length - 1)];
    if (next) next.focus();
  };
  switch (event.key) {
    case "j": step(1); break;
    case "k": step(-1); break;
    case "u": { const up = document.querySelector('[data-key="u"]'); if (up) up.click(); break; }
    case "/": { const url = document.getElementById("url"); url.focus(); url.select(); break; }
    default: return;
  }
  event.preventDefault();
});
