package wire

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestReply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		code     int
		lines    []string
	}{
		{"one line", "220 ready\r\n", 220, []string{"ready"}},
		{"bare LF", "220 ready\n", 220, []string{"ready"}},
		{"no text", "226\r\n", 226, []string{""}},
		{"no text but a space", "226 \r\n", 226, []string{""}},
		{"text begins with a space", "226  x\r\n", 226, []string{" x"}},
		{"protected reply of RFC 2228", "631 YWJj\r\n", 631, []string{"YWJj"}},
		// RFC 959, section 4.2.
		{"many lines", "123-First line\r\nSecond line\r\n  234 A line beginning with numbers\r\n123 The last line\r\n",
			123, []string{"First line", "Second line", "  234 A line beginning with numbers", "The last line"}},
		{"code on each line", "230-a\r\n230-b\r\n230 c\r\n", 230, []string{"a", "b", "c"}},
		{"other codes within", "230-a\r\n231 x\r\n231-y\r\n2300 z\r\n230x\r\n230 c\r\n",
			230, []string{"a", "231 x", "231-y", "2300 z", "230x", "c"}},
		{"last line without text", "230-a\r\n\r\n230\r\n", 230, []string{"a", "", ""}},
		{"no text at all", "230-\r\n230 \r\n", 230, []string{"", ""}},
		{"what the server says is data", "220 \x1b[2J\x00\xff\r\n", 220, []string{"\x1b[2J\x00\xff"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := NewReader(strings.NewReader(tt.in+"999 next\r\n"), 0)
			got, err := r.Reply(ReplyLimits{})
			if err != nil || got.Code != tt.code || fmt.Sprintf("%q", got.Lines) != fmt.Sprintf("%q", tt.lines) {
				t.Errorf("got %d %q, %v; want %d %q", got.Code, got.Lines, err, tt.code, tt.lines)
			}
			if got.Text() != strings.Join(tt.lines, "\n") {
				t.Errorf("Text = %q", got.Text())
			}
			if next, err := r.Reply(ReplyLimits{}); err != nil || next.Code != 999 {
				t.Errorf("the next reply: %v, %v", next, err)
			}
		})
	}
}

func TestReplyErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500)
	tests := []struct {
		name, in string
		err      error
		text     string // substring of the reply text
	}{
		{"nothing", "", io.EOF, ""},
		{"cut in a line", "220 rea", io.ErrUnexpectedEOF, ""},
		{"cut between lines", "220-ready\r\n", io.ErrUnexpectedEOF, ""},
		{"empty line", "\r\n", ErrMalformed, `""`},
		{"two digits", "22 x\r\n", ErrMalformed, `"22 x"`},
		{"letters", "HTTP/1.1 400 Bad Request\r\n", ErrMalformed, `"HTTP/1.1 400 Bad Request"`},
		{"four digits", "2200 x\r\n", ErrMalformed, ""},
		{"no space", "220x\r\n", ErrMalformed, ""},
		{"tab", "220\tx\r\n", ErrMalformed, ""},
		{"zero", "020 x\r\n", ErrMalformed, ""},
		{"superscripts", "\xb2\xb2\xb2 x\r\n", ErrMalformed, `"\xb2\xb2\xb2 x"`},
		{"space before the code", " 220 x\r\n", ErrMalformed, ""},
		{"controls are quoted", "\x1b[2J\r\n", ErrMalformed, `"\x1b[2J"`},
		{"long garbage is cut", long + "\r\n", ErrMalformed, `beginning "` + long[:100] + `"`},
		{"too many lines", "220-a\r\nb\r\nc\r\nd\r\n220 e\r\n", ErrReplyTooLong, "more than 4 lines"},
		{"too many bytes", "220-a\r\n" + long + "\r\n" + long + "\r\n220 x\r\n", ErrReplyTooLong, "900 bytes after 220"},
		{"too long a line", "220 " + strings.Repeat("x", 1<<20) + "\r\n", ErrLineTooLong, ""},
		{"too long a line within", "220-\r\n" + strings.Repeat("x", 1<<20) + "\r\n220 x\r\n", ErrLineTooLong, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := NewReader(strings.NewReader(tt.in), 0)
			reply, err := r.Reply(ReplyLimits{Lines: 4, Bytes: 900})
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, %v; want %v with %s", reply, err, tt.err, tt.text)
			}
		})
	}
}

func TestReplyLineLimitDoesNotWait(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	go io.WriteString(pw, "220-more\r\n")
	if _, err := NewReader(pr, 0).Reply(ReplyLimits{Lines: 1}); !errors.Is(err, ErrReplyTooLong) {
		t.Errorf("error %v", err)
	}
}

// An endless repeats a text forever.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func TestEndlessRepliesEnd(t *testing.T) {
	for _, s := range []endless{"x", "x\n", "220-x\r\n", "220-" + endless(strings.Repeat("x", 8000)) + "\r\n"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := NewReader(io.MultiReader(strings.NewReader("220-x\r\n"), s), 0)
		if _, err := r.Reply(ReplyLimits{}); !errors.Is(err, ErrReplyTooLong) && !errors.Is(err, ErrLineTooLong) {
			t.Errorf("%.8q...: error %v", s, err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("%.8q...: %d bytes allocated", s, used)
		}
	}
}

func TestReplyString(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Reply{
		"226":          {Code: 226, Lines: []string{""}},
		"550 no\nfile": {Code: 550, Lines: []string{"no", "file"}},
	} {
		if r.String() != want {
			t.Errorf("got %q, want %q", r, want)
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte("220 ready\r\n"))
	f.Add([]byte("123-First line\r\nSecond line\r\n  234 A line\r\n123 The last line\r\n"))
	f.Add([]byte("211-Features:\n MDTM\n REST STREAM\n211 End\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		limits := ReplyLimits{Lines: 5, Bytes: 100}
		r := NewReader(&chunks{in, 3}, 40)
		reply, err := r.Reply(limits)
		if err != nil {
			if reply.Code != 0 || reply.Lines != nil {
				t.Fatalf("an error with %v", reply)
			}
			return
		}
		if reply.Code < 100 || reply.Code > 999 || len(reply.Lines) < 1 || len(reply.Lines) > limits.Lines ||
			len(reply.Text()) > limits.Bytes+42 || strings.Count(reply.Text(), "\n") != len(reply.Lines)-1 {
			t.Fatalf("%d %q", reply.Code, reply.Lines)
		}
		// The reply is the same with the code on each line.
		var again strings.Builder
		for i, line := range reply.Lines {
			sep := '-'
			if i == len(reply.Lines)-1 {
				sep = ' '
			}
			fmt.Fprintf(&again, "%d%c%s\r\n", reply.Code, sep, line)
		}
		second, err := NewReader(strings.NewReader(again.String()), 0).Reply(limits)
		if err != nil || fmt.Sprintf("%q", second) != fmt.Sprintf("%q", reply) {
			t.Fatalf("%q reads as %q, %v", again.String(), second, err)
		}
	})
}
