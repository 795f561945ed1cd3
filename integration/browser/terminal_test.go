//go:build integration

package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/serve"
)

// sessions returns options that allow sessions.
func sessions(t *testing.T) func(*serve.Options, *fetch.Options) {
	return func(s *serve.Options, _ *fetch.Options) {
		s.Sessions = fetch.New(&fetch.Options{Policy: &fetch.Policy{AllowSessions: true}, Timeouts: fetch.Timeouts{Idle: -1}}, protocols.All)
		t.Cleanup(func() { s.Sessions.Close() })
	}
}

// terminal opens a session with a server that runs a script.
func (b *tab) terminal(script func(*telnetd.Conn)) *servers.Server {
	b.t.Helper()
	host := telnetd.Start(b.t, telnetd.Options{Script: script})
	b.open("telnet://" + host.Addr + "/")
	b.until(`document.activeElement.innerText.startsWith("Connect to ")`) // the button gets the focus when the page is shown
	b.loaded(chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.id === "typed"`)
	return host
}

const lines = `[...document.getElementById("lines").children].map(e => e.innerText.trimEnd()).join("\n")`

// echo echoes and quotes input, as an echoing host does.
func echo(c *telnetd.Conn) {
	c.Send("\xff\xfb\x01\xff\xfb\x03\xff\xfd\x1f") // WILL ECHO, WILL SGA, DO NAWS
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if text := string(buf[:n]); !strings.Contains(text, "\xff") {
			c.Send(fmt.Sprintf("%q\r\n", text))
		}
	}
}

// TestTerminal types into a session with the keyboard only.
func TestTerminal(t *testing.T) {
	b := newTab(t, sessions(t))
	b.terminal(echo)
	for _, stroke := range []struct {
		step step
		want string
	}{
		{chromedp.KeyEvent("a"), `"a"`},
		{chromedp.KeyEvent("é"), `"é"`},
		{chromedp.KeyEvent(kb.Enter), `"\r\x00"`}, // RFC 854
		{chromedp.KeyEvent(kb.Tab), `"\t"`},
		{chromedp.KeyEvent(kb.ArrowUp), `"\x1b[A"`},
		{chromedp.KeyEvent(kb.F5), `"\x1b[15~"`},
		{chromedp.KeyEvent("c", chromedp.KeyModifiers(2)), `"\x03"`},
		{chromedp.KeyEvent("x", chromedp.KeyModifiers(1)), `"\x1bx"`},
		{chromedp.KeyEvent("/"), `"/"`}, // focuses the address field on other pages
		{chromedp.Evaluate[chromedp.Void](`(() => { const d = new DataTransfer(); d.setData("text/plain", "one\r\ntwo\x1b[3~\n");
			document.getElementById("typed").dispatchEvent(new ClipboardEvent("paste", {clipboardData: d, cancelable: true})) })()`), `"one\r\x00two[3~\r\x00"`},
		{click(`.keys button[value="Escape"]`), `"\x1b"`},
	} {
		b.run(chromedp.Evaluate[chromedp.Void](`document.getElementById("typed").focus()`), stroke.step)
		want, _ := json.Marshal(stroke.want)
		b.until(`document.getElementById("lines").innerText.includes(` + string(want) + `)`)
	}
	b.run(chromedp.KeyEvent("]", chromedp.KeyModifiers(2)))
	if got := eval[string](b, `document.activeElement.id`); got != "end" {
		t.Errorf("Ctrl-] leads to %q", got)
	}
	b.run(chromedp.KeyEvent(kb.Enter))
	b.until(`document.getElementById("state").innerText.startsWith("Session ended")`)
	b.loaded(chromedp.KeyEvent(kb.Enter)) // reconnects
	b.until(`document.getElementById("state").innerText.startsWith("Connected to 127.0.0.1")`)
}

// TestTerminalEscapesText sends markup, scripts, titles and terminal queries. The screen must show
// them as text.
func TestTerminalEscapesText(t *testing.T) {
	b := newTab(t, sessions(t))
	requests := make(chan string, 10)
	b.terminal(func(c *telnetd.Conn) {
		c.Send("\x1b[" + strings.Repeat("9;", 10_000) + "m\x1b[99999999999999999999A\x1b[999999999@\x1b[20b\x1b]" + strings.Repeat("x", 4_000) + "\r\n")
		c.Send("\x1b[2J\x1b[H")
		c.Send("<script>document.title = 'evil'</script><img src=x onerror=\"document.title = 'evil'\">&lt;\r\n")
		c.Send("\x1b]0;evil\x07\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07\x1b]52;c;ZXZpbA==\x07\x1bP$q\"p\x1b\\\x1b[21t\x05\r\n")
		c.Send("exe\u202etxt.\u2066\u200b\x9b31m\xc2\x9b\r\n")
		c.Send("\x1b[H\x1b[3Bdone\x1b[6n")
		buf := make([]byte, 100)
		n, _ := c.Read(buf)
		requests <- string(buf[:n])
		c.Read(buf)
	})
	b.until(lines + `.includes("done")`)
	got := eval[string](b, lines)
	for _, want := range []string{`<script>document.title = 'evil'</script><img src=x onerror="document.`, "&lt;", "link", "exetxt."} {
		if !strings.Contains(strings.ReplaceAll(got, "\n", ""), want) {
			t.Errorf("the screen has no %q but\n%s", want, got)
		}
	}
	if n := eval[int](b, `document.querySelectorAll("#screen script, #screen img, #screen a, #spoken script, #spoken img").length`); n != 0 {
		t.Error("server output became markup")
	}
	if title := eval[string](b, `document.title`); strings.Contains(title, "evil") {
		t.Errorf("the title is %q", title)
	}
	if got := <-requests; got != "\x1b[4;5R" {
		t.Errorf("the page sent %q", got)
	}
}

// TestScreen compares the screen with the behavior of terminals.
func TestScreen(t *testing.T) {
	b := newTab(t, sessions(t))
	b.terminal(echo)
	b.run(chromedp.Evaluate[chromedp.Void](`import(document.querySelector("script[type=module]").src.replace("terminal", "screen")).then(m => window.Terminal = m.Screen)`))
	b.until(`window.Terminal !== undefined`)
	for _, tt := range []struct{ name, sent, want string }{
		{"text", "one\r\ntwo", "one|two||"},
		{"a line feed alone", "one\ntwo", "one|   two||"},
		{"the end of a line", "1234567890ab", "1234567890|ab||"},
		{"the last column waits", "1234567890\r\nx", "1234567890|x||"},
		{"no wrap", "\x1b[?7l1234567890ab", "123456789b|||"},
		{"scrolling", "a\r\nb\r\nc\r\nd\r\ne", "b|c|d|e"},
		{"moving", "\x1b[2;3Hx\x1b[Ay\x1b[2Dz\x1b[1G0\x1b[4d1", "0 zy|  x|| 1"},
		{"to an empty position", "\x1b[99;99Hx\x1b[0;0Hy", "y|||         x"},
		{"backspace", "ab\b\b\b\bc", "cb|||"},
		{"tabs", "a\tb\r\n\x1b[3g\tc", "a       b|         c||"},
		{"a tab that was set", "\x1b[4G\x1bH\r\tx", "   x|||"},
		{"the rest of a line", "abcdef\x1b[3D\x1b[K", "abc|||"},
		{"the beginning of a line", "abcdef\x1b[3D\x1b[1K", "    ef|||"},
		{"the rest of the screen", "ab\r\ncd\r\nef\x1b[2;2H\x1b[J", "ab|c||"},
		{"the beginning of the screen", "ab\r\ncd\r\nef\x1b[2;1H\x1b[1J", "| d|ef|"},
		{"everything", "ab\r\ncd\x1b[2Jx", "|  x||"},
		{"cells", "abcdef\r\x1b[2@\x1b[4C\x1b[P\x1b[2X", "  ab  f|||"},
		{"insert mode", "abc\r\x1b[4hxy\x1b[4lz", "xyzbc|||"},
		{"lines", "a\r\nb\r\nc\x1b[1;1H\x1b[L\x1b[3;1H\x1b[M", "|a|c|"},
		{"a region", "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nx", "a|c|x|d"},
		{"reverse in a region", "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[2;1H\x1bMx", "a|x|b|d"},
		{"origin", "\x1b[2;3r\x1b[?6hx", "|x||"},
		{"scrolling on request", "a\r\nb\x1b[S\x1b[2T", "||b|"},
		{"saved", "ab\x1b7\x1b[3;3Hx\x1b8c", "abc||  x|"},
		{"alternate screen", "ab\x1b[?1049hxyz\x1b[?1049lc", "abc|||"},
		{"reset", "ab\x1b[2;3r\x1bcx", "x|||"},
		{"lines that are drawn", "\x1b(0lqk\x1b(Bl\x0eq\x1b)0q\x0fq", "┌─┐lq─q|||"},
		{"once more", "a\x1b[3b", "aaaa|||"},
		{"wide", "中文x", "中文x|||"},
		{"wide at the end", "123456789中", "123456789|中||"},
		{"marks", "e\u0301x", "e\u0301x|||"},
		{"broken off", "a\x1b[3\x18b\x1b]0;x\x1b\\c", "abc|||"},
		{"controls within", "a\x1b[2\r\nCb", "a|  b||"},
		{"unknown", "a\x1b[?1;2$yb\x1b[>4;1mc\x1b%Gd\x1b=e\x1b[=5uf", "abcdef|||"},
		{"a title without an end", "\x1b]" + strings.Repeat("x", 4097) + "ab", "ab|||"},
	} {
		sent, _ := json.Marshal(tt.sent)
		got := eval[string](b, `(() => { const s = new Terminal(10, 4); s.feed(`+string(sent)+`); return [0, 1, 2, 3].map(y => s.text(y)).join("|") })()`)
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct{ sent, want string }{
		{"\x1b[31;1mx", "f1 bold"}, {"\x1b[97;104mx", "f15 b12"}, {"\x1b[7mx", "turned"}, {"\x1b[7;33mx", "turned tb3"},
		{"\x1b[38;5;196mx", "f9"}, {"\x1b[48;2;0;0;200mx", "b4"}, {"\x1b[38:5:34mx", "f2"}, {"\x1b[4;9;3;2mx", "faint slant under struck"},
		{"\x1b[1;4mx\x1b[22;24;35mx", "f5"}, {"\x1b[31m\x1b[mx", ""},
	} {
		b.terminal(func(c *telnetd.Conn) { c.Send("\x1b[?25l" + tt.sent + "\r\n"); c.Read(make([]byte, 1)) })
		b.until(lines + `.includes("x")`)
		if got := eval[string](b, `document.querySelector("#lines > div")?.lastChild.className || ""`); got != tt.want {
			t.Errorf("%q has the classes %q, want %q", tt.sent, got, tt.want)
		}
	}
}

// TestTerminalLayout checks a window of 360 pixels, the dark color scheme, and the labels for
// screen readers.
func TestTerminalLayout(t *testing.T) {
	b := newTab(t, sessions(t))
	sizes := make(chan int, 100)
	b.terminal(func(c *telnetd.Conn) {
		c.Send("\xff\xfd\x1f\x1b[1;33;44m Library of the fruit hole \x1b[m\r\n\r\n")
		for i, name := range []string{"Black", "Red", "Green", "Yellow", "Blue", "Magenta", "Cyan", "White"} {
			c.Send(fmt.Sprintf("%d  \x1b[%dm%-8s\x1b[m \x1b[7;%dm inverse \x1b[m \x1b[%dm bright \x1b[m \x1b[30;%dm behind \x1b[m\r\n", i, 30+i, name, 30+i, 90+i, 40+i))
		}
		c.Send("\r\nYour choice: ")
		buf := make([]byte, 100)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if i := strings.Index(string(buf[:n]), "\xff\xfa\x1f"); i >= 0 && i+7 <= n {
				sizes <- int(buf[i+4])
			}
		}
	})
	b.until(lines + `.includes("Your choice:")`)
	if first := <-sizes; first < 80 {
		t.Errorf("%d columns of 1000 pixels", first)
	}
	for _, scheme := range []string{"light", "dark"} {
		b.screen(1000, 680, scheme)
		if wrong := eval[[]string](b, problems); len(wrong) > 0 {
			t.Errorf("%s:\n%s", scheme, strings.Join(wrong, "\n"))
		}
	}
	b.keep("terminal.png")
	b.until(`document.getElementById("spoken").innerText.includes("Your choice:")`)
	b.screen(360, 740, "light")
	for size := 100; size < 30 || size > 50; {
		select {
		case size = <-sizes:
		case <-time.After(actionTimeout):
			t.Fatal("the server got no window size for 360 pixels")
		}
	}
	if width := eval[int](b, `document.documentElement.scrollWidth`); width > 360 {
		t.Errorf("the page is %d pixels wide", width)
	}
}
