// The screen of a session: the common part of ECMA-48 and the VT100. Server output becomes
// characters in cells. It cannot set markup or links, and it is never executed. The screen replies
// only to queries for the cursor position, the status and the terminal type.

const most = { params: 64, text: 4096, past: 1000, marks: 8, size: 500 };

// Flags of a style. The low bits are colours: five bits for the foreground, five for the
// background; 0 is the default colour.
export const bold = 1 << 10, faint = 1 << 11, italic = 1 << 12, underline = 1 << 13, inverse = 1 << 14, hidden = 1 << 15, struck = 1 << 16;

const flags = { 1: bold, 2: faint, 3: italic, 4: underline, 7: inverse, 8: hidden, 9: struck };
const ends = { 21: bold, 22: bold | faint, 23: italic, 24: underline, 27: inverse, 28: hidden, 29: struck };

// The line drawing characters of the VT100, from ` to ~.
const drawn = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";

const mark = /^\p{M}$/u;
const unseen = /^[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]$/u; // controls, including bidirectional marks
const wide = /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u;

const clamp = (n, low, high) => Math.min(Math.max(n, low), high);

// nearest returns the index of the closest of the sixteen colours to an RGB value.
function nearest(r, g, b) {
  const high = Math.max(r, g, b);
  if (high < 64) return 0;
  if (high - Math.min(r, g, b) < 32) return high > 208 ? 15 : high > 144 ? 7 : 8;
  const bit = (v) => (v > high / 2 ? 1 : 0);
  return bit(r) + 2 * bit(g) + 4 * bit(b) + (high > 208 ? 8 : 0);
}

// indexed returns the index of the closest of the sixteen colours to one of the 256-colour palette.
function indexed(n) {
  if (n < 16) return n;
  if (n > 231) return nearest(...Array(3).fill(8 + 10 * (n - 232)));
  const level = (v) => (v ? 55 + 40 * v : 0);
  n -= 16;
  return nearest(level(Math.floor(n / 36)), level(Math.floor(n / 6) % 6), level(n % 6));
}

export class Screen {
  constructor(columns, rows) {
    this.columns = columns;
    this.rows = rows;
    this.past = []; // lines scrolled off the top of the screen
    this.left = 0; // number of lines scrolled off
    this.answer = () => {}; // sends a reply to the server
    this.reset();
  }

  reset() {
    this.style = 0;
    this.x = this.y = 0;
    this.full = false; // the last column is written, and the next character wraps
    this.top = 0;
    this.bottom = this.rows - 1;
    this.modes = { wrap: true, cursor: true };
    this.sets = ["B", "B"];
    this.set = 0;
    this.saved = null;
    this.other = null; // the main screen while the alternate screen is shown
    this.state = "text";
    this.sequence = "";
    this.stops = new Set();
    for (let x = 8; x < most.size; x += 8) this.stops.add(x);
    this.lines = Array.from({ length: this.rows }, () => this.blank());
    this.last = " ";
    this.changed = true;
  }

  blank() {
    const behind = this.style & (31 << 5);
    return { text: Array(this.columns).fill(" "), style: Array(this.columns).fill(behind) };
  }

  resize(columns, rows) {
    columns = clamp(columns, 1, most.size);
    rows = clamp(rows, 1, most.size);
    const fit = (lines, cursor) => {
      for (const line of lines) {
        line.text.length = line.style.length = Math.min(line.text.length, columns);
        while (line.text.length < columns) line.text.push(" "), line.style.push(0);
      }
      while (lines.length > rows && cursor && this.y > 0 && this.y >= rows) this.keep(lines.shift()), this.y--;
      lines.length = Math.min(lines.length, rows);
      while (lines.length < rows) lines.push({ text: Array(columns).fill(" "), style: Array(columns).fill(0) });
    };
    fit(this.lines, !this.other);
    if (this.other) fit(this.other.lines, false);
    this.columns = columns;
    this.rows = rows;
    this.x = clamp(this.x, 0, columns - 1);
    this.y = clamp(this.y, 0, rows - 1);
    this.top = 0;
    this.bottom = rows - 1;
    this.full = false;
    this.changed = true;
  }

  keep(line) {
    this.past.push(line);
    this.left++;
    if (this.past.length > most.past) this.past.shift();
  }

  // feed processes server output.
  feed(text) {
    this.changed = true;
    for (const c of text) this.one(c);
  }

  one(c) {
    const code = c.codePointAt(0);
    if (c === "\x18" || c === "\x1a") { this.state = "text"; return; }
    switch (this.state) {
      case "string": // a title or similar string, which is ignored
        if (c === "\x07" || c === "\x1b" || ++this.skipped > most.text) this.state = c === "\x1b" ? "escape" : "text";
        this.sequence = "";
        return;
      case "escape":
        if (code < 32) break;
        this.escape(c);
        return;
      case "charset":
        if (code < 32) break;
        this.state = "text";
        if (this.sequence === "(" || this.sequence === ")") this.sets[this.sequence === "(" ? 0 : 1] = c;
        else if (this.sequence === "#" && c === "8") this.align();
        return;
      case "control":
        if (code < 32) break;
        if (code >= 0x40 && code <= 0x7e) {
          this.state = "text";
          if (this.sequence.length < most.params) this.control(this.sequence, c);
        } else if (this.sequence.length < most.params) this.sequence += c;
        return;
    }
    if (code < 32) this.command(c);
    else if (this.state === "text") this.put(c);
  }

  command(c) {
    switch (c) {
      case "\x1b": this.state = "escape"; this.sequence = ""; break;
      case "\b": this.x = Math.max(this.x - 1, 0); this.full = false; break;
      case "\t": this.tab(1); break;
      case "\n": case "\v": case "\f": this.feedLine(); if (this.modes.newline) this.x = 0; break;
      case "\r": this.x = 0; this.full = false; break;
      case "\x0e": this.set = 1; break;
      case "\x0f": this.set = 0; break;
    }
  }

  escape(c) {
    this.state = "text";
    switch (c) {
      case "[": this.state = "control"; this.sequence = ""; break;
      case "]": case "P": case "X": case "^": case "_": this.state = "string"; this.skipped = 0; break;
      case "(": case ")": case "*": case "+": case "#": case "%": case " ": this.state = "charset"; this.sequence = c; break;
      case "7": this.save(); break;
      case "8": this.restore(); break;
      case "D": this.feedLine(); break;
      case "E": this.feedLine(); this.x = 0; break;
      case "M": this.reverse(); break;
      case "H": this.stops.add(this.x); break;
      case "c": this.reset(); break;
    }
  }

  put(c) {
    if (mark.test(c)) {
      const at = this.full ? this.x : this.x - 1;
      const line = this.lines[this.y];
      if (at >= 0 && line.text[at].length < most.marks) line.text[at] += c;
      return;
    }
    if (unseen.test(c)) return;
    if (this.sets[this.set] === "0" && c >= "`" && c <= "~") c = drawn[c.charCodeAt(0) - 96];
    const cells = c > "\u1100" && wide.test(c) && this.columns > 1 ? 2 : 1;
    if (this.full || this.x + cells > this.columns) {
      if (this.modes.wrap) { this.x = 0; this.feedLine(); } else this.x = this.columns - cells;
      this.full = false;
    }
    const line = this.lines[this.y];
    if (this.modes.insert) this.insertCells(cells);
    line.text[this.x] = this.last = c;
    line.style[this.x] = this.style;
    if (cells === 2) { line.text[this.x + 1] = ""; line.style[this.x + 1] = this.style; }
    this.x += cells;
    if (this.x >= this.columns) { this.x = this.columns - 1; this.full = true; }
  }

  feedLine() {
    this.full = false;
    if (this.y === this.bottom) this.scroll(1);
    else this.y = Math.min(this.y + 1, this.rows - 1);
  }

  reverse() {
    this.full = false;
    if (this.y === this.top) this.scroll(-1);
    else this.y = Math.max(this.y - 1, 0);
  }

  tab(n) {
    const by = Math.sign(n);
    for (let x = this.x + by; n !== 0 && x >= 0 && x < this.columns; x += by) {
      this.x = x;
      if (this.stops.has(x)) n -= by;
    }
    this.full = false;
  }

  // scroll moves the lines of the scroll region, or those from a given line on, up by n, or down if n is negative.
  scroll(n, from = this.top, keep = true) {
    const count = Math.min(Math.abs(n), this.bottom - from + 1);
    for (let i = 0; i < count; i++) {
      if (n > 0) {
        const [line] = this.lines.splice(from, 1);
        if (keep && from === 0 && !this.other) this.keep(line);
        this.lines.splice(this.bottom, 0, this.blank());
      } else {
        this.lines.splice(this.bottom, 1);
        this.lines.splice(from, 0, this.blank());
      }
    }
  }

  insertCells(n) {
    const line = this.lines[this.y];
    n = Math.min(n, this.columns - this.x);
    const blank = this.blank();
    for (const part of ["text", "style"]) {
      line[part].splice(this.x, 0, ...blank[part].slice(0, n));
      line[part].length = this.columns;
    }
  }

  deleteCells(n) {
    const line = this.lines[this.y];
    n = Math.min(n, this.columns - this.x);
    const blank = this.blank();
    for (const part of ["text", "style"]) {
      line[part].splice(this.x, n);
      line[part].push(...blank[part].slice(0, n));
    }
  }

  erase(y, from, to) {
    const line = this.lines[y], blank = this.blank();
    for (let x = from; x < Math.min(to, this.columns); x++) { line.text[x] = " "; line.style[x] = blank.style[0]; }
  }

  align() {
    for (const line of this.lines) line.text.fill("E"), line.style.fill(0);
    this.x = this.y = 0;
  }

  save() {
    this.saved = { x: this.x, y: this.y, style: this.style, sets: [...this.sets], set: this.set };
  }

  restore() {
    const was = this.saved || { x: 0, y: 0, style: 0, sets: ["B", "B"], set: 0 };
    this.moveTo(was.x, was.y);
    this.style = was.style;
    this.sets = [...was.sets];
    this.set = was.set;
  }

  moveTo(x, y) {
    this.x = clamp(x, 0, this.columns - 1);
    this.y = clamp(y, 0, this.rows - 1);
    this.full = false;
  }

  // control executes a control sequence.
  control(sequence, final) {
    const [, prefix, text, rest] = /^([<-?]*)([\d;:]*)(.*)$/s.exec(sequence);
    const params = text.replaceAll(":", ";").split(";").map((s) => (s === "" ? null : Math.min(Number(s), 9999)));
    const at = (i, usual) => params[i] || usual;
    const n = at(0, 1);
    if (final === "h" || final === "l") {
      if (rest === "") for (const p of params) this.mode(prefix, p, final === "h");
      return;
    }
    if (prefix === "" && rest === "!" && final === "p") { this.reset(); return; }
    if (prefix !== "" || rest !== "") return;
    switch (final) {
      case "@": this.insertCells(n); break;
      case "A": this.moveTo(this.x, Math.max(this.y - n, this.y >= this.top ? this.top : 0)); break;
      case "B": case "e": this.moveTo(this.x, Math.min(this.y + n, this.y <= this.bottom ? this.bottom : this.rows - 1)); break;
      case "C": case "a": this.moveTo(this.x + n, this.y); break;
      case "D": this.moveTo(this.x - n, this.y); break;
      case "E": this.moveTo(0, this.y + n); break;
      case "F": this.moveTo(0, this.y - n); break;
      case "G": case "`": this.moveTo(n - 1, this.y); break;
      case "H": case "f": this.moveTo(at(1, 1) - 1, n - 1 + (this.modes.origin ? this.top : 0)); break;
      case "d": this.moveTo(this.x, n - 1 + (this.modes.origin ? this.top : 0)); break;
      case "I": this.tab(n); break;
      case "Z": this.tab(-n); break;
      case "J": this.eraseScreen(at(0, 0)); break;
      case "K": {
        const how = at(0, 0);
        this.erase(this.y, how === 0 ? this.x : 0, how === 1 ? this.x + 1 : this.columns);
        break;
      }
      case "L": if (this.y >= this.top && this.y <= this.bottom) this.scroll(-n, this.y, false); break;
      case "M": if (this.y >= this.top && this.y <= this.bottom) this.scroll(n, this.y, false); break;
      case "P": this.deleteCells(n); break;
      case "S": this.scroll(n); break;
      case "T": this.scroll(-n); break;
      case "X": this.erase(this.y, this.x, this.x + n); break;
      case "b": for (let i = 0; i < Math.min(n, this.columns * this.rows); i++) this.put(this.last); break;
      case "c": if (at(0, 0) === 0) this.answer("\x1b[?1;2c"); break;
      case "g": if (at(0, 0) === 3) this.stops.clear(); else this.stops.delete(this.x); break;
      case "m": this.shade(params); break;
      case "n":
        if (n === 5) this.answer("\x1b[0n");
        if (n === 6) this.answer(`\x1b[${this.y + 1};${this.x + 1}R`);
        break;
      case "r": {
        const top = at(0, 1) - 1, bottom = Math.min(at(1, this.rows), this.rows) - 1;
        if (top < bottom) { this.top = top; this.bottom = bottom; this.moveTo(0, this.modes.origin ? top : 0); }
        break;
      }
      case "s": this.save(); break;
      case "u": this.restore(); break;
    }
  }

  eraseScreen(how) {
    if (how === 0) this.erase(this.y, this.x, this.columns);
    if (how === 1) this.erase(this.y, 0, this.x + 1);
    for (let y = 0; y < this.rows; y++) {
      if (how === 2 || (how === 0 && y > this.y) || (how === 1 && y < this.y)) this.erase(y, 0, this.columns);
    }
    if (how === 3) this.past = [];
  }

  mode(prefix, p, on) {
    if (prefix === "") {
      if (p === 4) this.modes.insert = on;
      if (p === 20) this.modes.newline = on;
      return;
    }
    if (prefix !== "?") return;
    switch (p) {
      case 1: this.modes.keys = on; break;
      case 6: this.modes.origin = on; this.moveTo(0, on ? this.top : 0); break;
      case 7: this.modes.wrap = on; break;
      case 25: this.modes.cursor = on; break;
      case 2004: this.modes.paste = on; break;
      case 47: case 1047: this.alternate(on); break;
      case 1048: if (on) this.save(); else this.restore(); break;
      case 1049:
        if (on) { this.save(); this.alternate(true); } else { this.alternate(false); this.restore(); }
        break;
    }
  }

  alternate(on) {
    if (on === Boolean(this.other)) return;
    if (on) {
      this.other = { lines: this.lines };
      this.lines = Array.from({ length: this.rows }, () => this.blank());
    } else {
      this.lines = this.other.lines;
      this.other = null;
    }
  }

  // shade sets the style of the following characters (SGR).
  shade(params) {
    const text = (n) => { this.style = (this.style & ~31) | n; };
    const behind = (n) => { this.style = (this.style & ~(31 << 5)) | (n << 5); };
    for (let i = 0; i < params.length; i++) {
      const p = params[i] || 0;
      if (p === 0) this.style = 0;
      else if (flags[p]) this.style |= flags[p];
      else if (ends[p]) this.style &= ~ends[p];
      else if (p >= 30 && p <= 37) text(p - 29);
      else if (p >= 90 && p <= 97) text(p - 81);
      else if (p === 39) text(0);
      else if (p >= 40 && p <= 47) behind(p - 39);
      else if (p >= 100 && p <= 107) behind(p - 91);
      else if (p === 49) behind(0);
      else if (p === 38 || p === 48) {
        const set = p === 38 ? text : behind;
        if (params[i + 1] === 5) { set(indexed(clamp(params[i + 2] || 0, 0, 255)) + 1); i += 2; }
        else if (params[i + 1] === 2) { set(nearest(params[i + 2] || 0, params[i + 3] || 0, params[i + 4] || 0) + 1); i += 4; }
      }
    }
  }

  // text returns the text of a line.
  text(y) { return this.lines[y].text.join("").trimEnd(); }
}
