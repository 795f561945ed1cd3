// The terminal of a session. Server output goes to a Screen and from there into the page, as text
// and class names only. Input goes to the server.

import { Screen, bold, faint, italic, underline, inverse, hidden, struck } from "./screen.js";

const part = (id) => document.getElementById(id);
const box = part("screen"), lines = part("lines"), past = part("past"), typed = part("typed"), state = part("state");
const is3270 = box.dataset.scheme === "tn3270"; // which has a fixed screen size

const screen = new Screen(80, 24);
const socket = new WebSocket(location.origin.replace(/^http/, "ws") + "/terminal?ticket=" + encodeURIComponent(box.dataset.ticket));
socket.binaryType = "arraybuffer";

// Characters.

const upper437 = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■ ";
const ibm437 = { decode: (bytes) => Array.from(new Uint8Array(bytes), (b) => (b < 128 ? String.fromCharCode(b) : upper437[b - 128])).join("") };
let decoder = new TextDecoder("utf-8");
const charset = part("charset");
charset.addEventListener("change", () => { decoder = charset.value === "ibm437" ? ibm437 : new TextDecoder(charset.value); typed.focus(); });

// encode encodes input. Characters that the charset lacks become question marks.
function encode(text) {
  if (charset.value === "utf-8" || is3270) return new TextEncoder().encode(text);
  const all = new Uint8Array(Array.from({ length: 256 }, (_, i) => i));
  const chars = charset.value === "ibm437" ? ibm437.decode(all) : new TextDecoder(charset.value).decode(all);
  return new Uint8Array(Array.from(text, (c) => { const i = chars.indexOf(c); return i < 0 ? 63 : i; }));
}

// Sending.

const longest = 16384; // bytes of a message

function send(text) {
  if (socket.readyState !== WebSocket.OPEN || text === "") return;
  const bytes = encode(text);
  for (let i = 0; i < bytes.length; i += longest) socket.send(bytes.slice(i, i + longest));
  box.scrollTop = box.scrollHeight;
}

const order = (what) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(what)); };

if (!is3270) screen.answer = send;

// size returns the screen size that fits the page, within limits.
function size() {
  if (is3270) return [80, 24];
  const unit = part("sizer").getBoundingClientRect();
  const columns = Math.floor((box.clientWidth - 16) / (unit.width / 10));
  const above = box.getBoundingClientRect().top + window.scrollY;
  const rows = Math.floor((window.innerHeight - above - 48) / unit.height);
  return [Math.min(Math.max(columns, 20), 132), Math.min(Math.max(rows, 12), 50)];
}

function fit() {
  const [columns, rows] = size();
  if (columns === screen.columns && rows === screen.rows) return;
  screen.resize(columns, rows);
  order({ columns, rows });
  draw();
}

let resizing = 0;
new ResizeObserver(() => { clearTimeout(resizing); resizing = setTimeout(fit, 150); }).observe(document.body);

// Drawing.

function classes(style, cursor) {
  let text = style & 31, behind = (style >> 5) & 31;
  const list = [];
  if (style & inverse) {
    list.push("turned");
    [text, behind] = [behind, text];
  }
  if (text) list.push((style & inverse ? "tf" : "f") + (text - 1));
  if (behind) list.push((style & inverse ? "tb" : "b") + (behind - 1));
  for (const [flag, name] of [[bold, "bold"], [faint, "faint"], [italic, "slant"], [underline, "under"], [hidden, "secret"], [struck, "struck"]]) {
    if (style & flag) list.push(name);
  }
  if (cursor) list.push("cursor");
  return list.join(" ");
}

// row returns the element of a line. Adjacent cells of one style share a span.
function row(line, cursor) {
  const div = document.createElement("div");
  let end = line.text.length;
  while (end > 0 && line.text[end - 1] === " " && line.style[end - 1] === 0 && end - 1 !== cursor) end--;
  for (let x = 0; x < end;) {
    let text = line.text[x], to = x + 1;
    while (to < end && line.style[to] === line.style[x] && to !== cursor && x !== cursor) text += line.text[to++];
    if (x === cursor) while (to < end && line.text[to] === "") to++;
    const names = classes(line.style[x], x === cursor);
    if (names === "") div.append(text);
    else {
      const span = document.createElement("span");
      span.className = names;
      span.textContent = text;
      div.append(span);
    }
    x = to;
  }
  return div;
}

let drawing = 0, drawn = 0;

function draw() {
  if (!drawing) drawing = requestAnimationFrame(drawNow);
}

function drawNow() {
  drawing = 0;
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  const fresh = Math.min(screen.left - drawn, screen.past.length);
  drawn = screen.left;
  past.append(...screen.past.slice(screen.past.length - fresh).map((line) => row(line, -1)));
  while (past.childElementCount > screen.past.length) past.firstChild.remove();
  lines.replaceChildren(...screen.lines.map((line, y) => row(line, screen.modes.cursor && y === screen.y ? screen.x : -1)));
  const here = lines.children[screen.y];
  typed.style.top = here.offsetTop + "px";
  if (atEnd) box.scrollTop = box.scrollHeight;
  speak();
}

// Screen readers: announces new lines when the server pauses.

const spoken = part("spoken");
let speaking = 0, heard = new Set();

function speak() {
  if (speaking) return;
  speaking = setTimeout(() => {
    speaking = 0;
    const now = screen.lines.map((_, y) => screen.text(y)).filter((text) => text !== "");
    const news = now.filter((text) => !heard.has(text));
    heard = new Set(now);
    for (const text of news) {
      const p = document.createElement("p");
      p.textContent = text;
      spoken.append(p);
    }
    while (spoken.childElementCount > 50) spoken.firstChild.remove();
  }, 700);
}

// Typing.

const cursorKeys = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };
const otherKeys = {
  Enter: "\r", Tab: "\t", Backspace: "\x7f", Escape: "\x1b", Insert: "\x1b[2~", Delete: "\x1b[3~", PageUp: "\x1b[5~", PageDown: "\x1b[6~",
  F1: "\x1bOP", F2: "\x1bOQ", F3: "\x1bOR", F4: "\x1bOS", F5: "\x1b[15~", F6: "\x1b[17~", F7: "\x1b[18~", F8: "\x1b[19~", F9: "\x1b[20~",
  F10: "\x1b[21~", F11: "\x1b[23~", F12: "\x1b[24~", Interrupt: "\x03", Clear: "\x1bc", Reset: "\x12", PA1: "\x1bp1", PA2: "\x1bp2", PA3: "\x1bp3",
};

const sequence = (name) => (cursorKeys[name] ? (screen.modes.keys ? "\x1bO" : "\x1b[") + cursorKeys[name] : otherKeys[name]);

typed.addEventListener("keydown", (event) => {
  if (event.isComposing || event.metaKey) return;
  let keys;
  if (event.ctrlKey && !event.altKey && !event.shiftKey && event.key.length === 1) {
    if (event.key === "]") { part("end").focus(); event.preventDefault(); return; }
    if (event.key === "v" || (event.key === "c" && !getSelection().isCollapsed)) return; // the browser's
    const code = event.key === " " ? 0 : event.key.toUpperCase().charCodeAt(0) - 64;
    if (code < 0 || code > 31) return;
    keys = String.fromCharCode(code);
  } else if (event.ctrlKey) return;
  else if (event.key === "Tab" && event.shiftKey) keys = "\x1b[Z";
  else if (event.shiftKey && (event.key === "PageUp" || event.key === "PageDown")) {
    box.scrollTop += (event.key === "PageUp" ? -0.9 : 0.9) * box.clientHeight;
    event.preventDefault();
    return;
  } else if (event.altKey && /^[ -~]$/.test(event.key)) keys = "\x1b" + event.key;
  else keys = sequence(event.key);
  if (keys === undefined) return; // handled as text by the input event
  event.preventDefault();
  send(keys);
});

typed.addEventListener("input", (event) => {
  if (event.isComposing) return;
  send(typed.value.replaceAll("\n", "\r"));
  typed.value = "";
});
typed.addEventListener("compositionend", () => { send(typed.value); typed.value = ""; });

typed.addEventListener("paste", (event) => {
  event.preventDefault();
  let text = event.clipboardData.getData("text/plain").replace(/\r\n?|\n/g, "\r").replace(/[\0-\x08\x0a-\x0c\x0e-\x1f\x7f-\x9f]/g, "");
  if (screen.modes.paste) text = "\x1b[200~" + text + "\x1b[201~";
  send(text);
});

box.addEventListener("mouseup", () => { if (getSelection().isCollapsed) typed.focus({ preventScroll: true }); });
for (const button of document.querySelectorAll(".keys button")) {
  button.addEventListener("click", () => { send(sequence(button.value)); typed.focus({ preventScroll: true }); });
}
part("break").addEventListener("click", () => { order({ break: true }); typed.focus({ preventScroll: true }); });
part("status").addEventListener("click", () => order({ status: true }));
part("end").addEventListener("click", () => socket.close(1000));

// The session.

function over(text) {
  if (!part("again").hidden) return;
  const here = document.activeElement === document.body || document.querySelector(".session").contains(document.activeElement);
  state.textContent = "Session ended" + (text ? ": " + text : ".");
  part("again").hidden = false;
  for (const e of document.querySelectorAll(".keys button, #end, #break, #status")) e.disabled = true;
  typed.readOnly = true;
  if (here) part("again").querySelector("button").focus();
}

socket.addEventListener("open", () => {
  const [columns, rows] = size();
  screen.resize(columns, rows);
  order({ columns, rows });
  draw();
});
socket.addEventListener("message", (event) => {
  if (typeof event.data !== "string") {
    screen.feed(decoder.decode(event.data, { stream: true }));
    draw();
    return;
  }
  const notice = JSON.parse(event.data);
  if (notice.open) {
    state.textContent = "Connected to " + notice.open;
    typed.focus();
  }
  if (notice.status) state.textContent = notice.status;
  if (notice.closed) over(notice.closed);
});
socket.addEventListener("close", () => over(""));
addEventListener("pagehide", () => socket.close());
