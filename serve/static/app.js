// Optional conveniences. All pages work without this script.
"use strict";

const entries = () => [...document.querySelectorAll(".entry")];

// The filter hides entries that do not match: in long listings shortly after the user stops typing.
const filter = document.getElementById("filter");
if (filter) {
  let timer = 0;
  const apply = () => {
    const words = filter.value.toLowerCase();
    for (const e of entries()) {
      const name = e.querySelector(".name") || e;
      e.classList.toggle("off", !name.textContent.toLowerCase().includes(words));
    }
    const all = entries(), left = all.filter((e) => !e.classList.contains("off")).length;
    const text = left === all.length && !words ? `${left} entries` : `${left} of ${all.length} entries`;
    for (const e of document.querySelectorAll(".count[role], #shown")) e.textContent = text;
  };
  filter.addEventListener("input", () => {
    clearTimeout(timer);
    if (entries().length > 1000) timer = setTimeout(apply, 150); else apply();
  });
}

const focusAddress = () => { const url = document.getElementById("url"); url.focus(); url.select(); };

// Stop keeps what has arrived.
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-stop]")) { event.preventDefault(); window.stop(); }
});

// Going back to the items of followed pages shows what was read.
addEventListener("pageshow", (event) => { if (event.persisted && document.querySelector(".news")) location.reload(); });

// A scheme that was chosen is continued behind it.
const start = document.querySelector("#url[autofocus]");
if (start) start.setSelectionRange(start.value.length, start.value.length);

// The button of an error page selects the address.
const edit = document.querySelector("[data-edit]");
if (edit) edit.addEventListener("click", (event) => { event.preventDefault(); focusAddress(); });

// The keys on all pages. The page /keys lists them.
const follow = (name) => { const link = document.querySelector(`[data-key="${name}"]`); if (link) link.click(); };
let number = ""; // digits typed after "#"

// The links of the content come before those that only serve the page or an entry again.
const isChrome = (a) => a.closest("nav, .tools, thead, .entries td:last-child, .more, [popover]");
const links = () => {
  const all = [...document.querySelectorAll("main a[href]")].filter((a) => a.offsetParent);
  const content = all.filter((a) => !isChrome(a));
  return { content: content.length ? content : all, all: [...content, ...all.filter(isChrome)] };
};
const step = (by) => {
  const all = links().content;
  const next = all[Math.min(Math.max(all.indexOf(document.activeElement) + by, 0), all.length - 1)];
  if (next) next.focus();
};

// Numbers are shown on the links until a number and Enter, or another key, is pressed.
const showNumbers = (show) => {
  document.body.classList.toggle("numbers", show);
  number = "";
  links().all.forEach((a, i) => { if (show) a.dataset.number = i + 1; else delete a.dataset.number; });
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, textarea, select")) return;
  if (document.body.classList.contains("numbers")) {
    if (/^[0-9]$/.test(event.key)) { number += event.key; event.preventDefault(); return; }
    const chosen = document.querySelector(`[data-number="${number}"]`);
    showNumbers(false);
    if (event.key === "Enter" && chosen) { event.preventDefault(); chosen.click(); return; }
    if (event.key === "Escape" || event.key === "#") { event.preventDefault(); return; }
  }
  switch (event.key) {
    case "?": location.href = "/keys"; break;
    case "/": case "g": focusAddress(); break;
    case "f": if (filter) filter.focus(); break;
    case "j": step(1); break;
    case "k": step(-1); break;
    case "l": if (document.activeElement.matches("main a[href]")) document.activeElement.click(); break;
    case "h": history.back(); break;
    case "#": showNumbers(true); break;
    case "=": follow("i"); break;
    case "b": case "d": case "i": case "m": case "n": case "p": case "r": case "s": case "u": follow(event.key); break;
    default: return;
  }
  event.preventDefault();
});
