package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readDot reads a block in several ways, checks that the results agree, and returns the content of
// the block and the rest of the input.
func readDot(t *testing.T, in string, opts DotOptions) (content, rest string, err error) {
	t.Helper()
	sources := map[string]func() io.Reader{
		"whole":  func() io.Reader { return strings.NewReader(in) },
		"halves": func() io.Reader { return iotest.HalfReader(strings.NewReader(in)) },
		"bytes":  func() io.Reader { return iotest.OneByteReader(strings.NewReader(in)) },
	}
	readers := map[string]func(io.Reader) (string, error){
		"Read": func(r io.Reader) (string, error) {
			b, err := io.ReadAll(struct{ io.Reader }{r})
			return string(b), err
		},
		"small Read": func(r io.Reader) (string, error) {
			b, err := io.ReadAll(iotest.OneByteReader(r))
			return string(b), err
		},
		"WriteTo": func(r io.Reader) (string, error) {
			var b bytes.Buffer
			_, err := io.Copy(&b, r)
			return b.String(), err
		},
	}
	first := true
	for sname, source := range sources {
		for rname, read := range readers {
			r := NewReader(source(), 0)
			got, gotErr := read(r.Dot(opts))
			tail, tailErr := io.ReadAll(r)
			if tailErr != nil {
				t.Fatal(tailErr)
			}
			if first {
				content, rest, err, first = got, string(tail), gotErr, false
			}
			if got != content || string(tail) != rest || gotErr != err {
				t.Fatalf("%s from %s: %q, rest %q, error %v; another way: %q, rest %q, error %v",
					rname, sname, got, tail, gotErr, content, rest, err)
			}
		}
	}
	return content, rest, err
}

func TestDotReaderContent(t *testing.T) {
	t.Parallel()
	lenient := DotOptions{LenientEnd: true}
	tests := []struct {
		name, in   string
		opts       DotOptions
		want, rest string
		err        error
	}{
		{name: "empty", in: ".\r\n200 next\r\n", rest: "200 next\r\n"},
		{name: "keeps CRLF", in: "a\r\n\r\nb\r\n.\r\nx", want: "a\r\n\r\nb\r\n", rest: "x"},
		{name: "unstuffs each line", in: "..\r\n...\r\n..a\r\n.\r\n", want: ".\r\n..\r\n.a\r\n"},
		{name: "removes a dot that was not stuffed", in: ".a\r\n.\r\n", want: "a\r\n"},
		{name: "dots elsewhere are content", in: "a.b.\r\n.\r\n", want: "a.b.\r\n"},
		{name: "bare LF ends nothing", in: ".\na\n.\nb\n.\r\nc\r\n.\r\n", want: "\na\n.\nb\n.\r\nc\r\n"},
		{name: "bare CR ends nothing", in: "a\r.\r\n.\r\n", want: "a\r.\r\n"},
		{name: "CR CR LF", in: "a\r\r\n.\r\n", want: "a\r\r\n"},
		{name: "dot and CR without LF", in: "a\r\n.\rb\r\n.\r\n", want: "a\r\n\rb\r\n"},
		{name: "all bytes", in: "\x00\xff\x80\r\n.\r\n", want: "\x00\xff\x80\r\n"},

		{name: "cut at once", in: "", err: io.ErrUnexpectedEOF},
		{name: "cut in a line", in: "a\r\nb", want: "a\r\nb", err: io.ErrUnexpectedEOF},
		{name: "cut between lines", in: "a\r\n", want: "a\r\n", err: io.ErrUnexpectedEOF},
		{name: "cut after the dot", in: "a\r\n.", want: "a\r\n", err: io.ErrUnexpectedEOF, rest: "."},
		{name: "cut after the dot and CR", in: "a\r\n.\r", want: "a\r\n", err: io.ErrUnexpectedEOF, rest: ".\r"},

		{name: "lenient: bare LF", in: "a\n.\nb", opts: lenient, want: "a\n", rest: "b"},
		{name: "lenient: bare LF at once", in: ".\nb", opts: lenient, rest: "b"},
		{name: "lenient: CRLF", in: "a\r\n.\r\nb", opts: lenient, want: "a\r\n", rest: "b"},
		{name: "lenient: mixed", in: "a\n.\r\nb", opts: lenient, want: "a\n", rest: "b"},
		{name: "lenient: dot at the very end", in: "a\n.", opts: lenient, want: "a\n"},
		{name: "lenient: dot and CR at the very end", in: "a\n.\r", opts: lenient, want: "a\n"},
		{name: "lenient: still needs the dot", in: "a\n", opts: lenient, want: "a\n", err: io.ErrUnexpectedEOF},
		{name: "lenient: unstuffs", in: "..\n..a\n.\n", opts: lenient, want: ".\n.a\n"},

		{name: "none", in: "..\r\n.a\r\n..a\r\n.\r\n", opts: DotOptions{Unstuff: UnstuffNone}, want: "..\r\n.a\r\n..a\r\n"},
		{name: "double", in: "..\r\n.a\r\n..a\r\n...\r\n.\r\n", opts: DotOptions{Unstuff: UnstuffDouble}, want: ".\r\n.a\r\n.a\r\n..\r\n"},
		{name: "lone", in: "..\r\n.a\r\n..a\r\n...\r\n.\r\n", opts: DotOptions{Unstuff: UnstuffLone}, want: ".\r\n.a\r\n..a\r\n...\r\n"},
		{name: "lone with bare LF", in: "..\n..a\n.\n", opts: DotOptions{Unstuff: UnstuffLone, LenientEnd: true}, want: ".\n..a\n"},
		{name: "lone, strict, with bare LF", in: "..\nb\r\n.\r\n", opts: DotOptions{Unstuff: UnstuffLone}, want: "..\nb\r\n"},
		{name: "lone, cut", in: "..", opts: DotOptions{Unstuff: UnstuffLone}, want: "..", err: io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, rest, err := readDot(t, tt.in, tt.opts)
			if got != tt.want || rest != tt.rest || err != tt.err {
				t.Errorf("got %q, rest %q, error %v; want %q, rest %q, error %v", got, rest, err, tt.want, tt.rest, tt.err)
			}
		})
	}
}

// TestDotReaderAcrossBuffers tests line endings at all positions near the end of the read buffer.
func TestDotReaderAcrossBuffers(t *testing.T) {
	t.Parallel()
	for pad := bufferSize - 8; pad < bufferSize+3; pad++ {
		head := strings.Repeat("x", pad)
		in := head + "\r\n..y\r\n" + head + head + "\r\n.\r\nrest"
		r := NewReader(strings.NewReader(in), 0)
		var got bytes.Buffer
		if _, err := io.Copy(&got, r.Dot(DotOptions{})); err != nil {
			t.Fatal(err)
		}
		if want := head + "\r\n.y\r\n" + head + head + "\r\n"; got.String() != want {
			t.Errorf("content differs with %d bytes before the dot", pad)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("rest = %q", rest)
		}
	}
}

func TestDotReaderContinuesAfterError(t *testing.T) {
	t.Parallel()
	again := errors.New("again")
	parts := []string{"a\r", "\n", ".", ".", "\r\n", ".", "\r", "\n"}
	var sources []io.Reader
	for _, p := range parts {
		sources = append(sources, strings.NewReader(p), iotest.ErrReader(again))
	}
	var got []byte
	r := NewReader(&sequence{sources}, 0)
	d := r.Dot(DotOptions{})
	buf := make([]byte, 16)
	for {
		n, err := d.Read(buf)
		got = append(got, buf[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil && err != again {
			t.Fatal(err)
		}
	}
	if string(got) != "a\r\n.\r\n" {
		t.Errorf("got %q", got)
	}
}

// A sequence reads from each reader in turn. It returns each of their errors, except io.EOF, once.
type sequence struct{ readers []io.Reader }

func (s *sequence) Read(p []byte) (int, error) {
	for len(s.readers) > 0 {
		n, err := s.readers[0].Read(p)
		if n > 0 {
			return n, nil
		}
		s.readers = s.readers[1:]
		if err != io.EOF {
			return 0, err
		}
	}
	return 0, io.EOF
}

func TestDotReaderReportsShortWrites(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	d := NewReader(strings.NewReader("abc\r\n.\r\n"), 0).Dot(DotOptions{})
	n, err := io.Copy(writerFunc(func(p []byte) (int, error) { return 2, full }), d)
	if n != 2 || err != full {
		t.Errorf("n = %d, err = %v", n, err)
	}
	rest, err := io.ReadAll(d)
	if string(rest) != "c\r\n" || err != nil {
		t.Errorf("what was not written = %q, %v", rest, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestServersThatEndLinesWithLF has replies before a block. Only if all end with bare LFs, one with a
// dot ends the block.
func TestServersThatEndLinesWithLF(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in   string
		replies    int
		want, rest string
		err        error
	}{
		{"LF", "200 hi\n215 list\na\n..b\n.\n200", 2, "a\n..b\n", "200", nil},
		{"LF, empty", "215 list\n.\n200", 1, "", "200", nil},
		{"LF, cut", "215 list\na\n.", 1, "a\n", ".", io.ErrUnexpectedEOF},
		{"CRLF", "200 hi\r\n215 list\r\na\n.\nb\r\n.\r\n200", 2, "a\n.\nb\r\n", "200", nil},
		{"CRLF before", "200 hi\r\n215 list\na\n.\nb\r\n.\r\n200", 2, "a\n.\nb\r\n", "200", nil},
		{"CRLF in the block", "215 list\na\r\n.\r\n200", 1, "a\r\n", "200", nil},
		{"no reply", "a\n.\n\r\n.\r\n200", 0, "a\n.\n\r\n", "200", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, read := range []func(r *Reader) (string, error){
				func(r *Reader) (string, error) {
					b, err := io.ReadAll(r.Dot(DotOptions{Unstuff: UnstuffNone}))
					return string(b), err
				},
				func(r *Reader) (string, error) {
					var b strings.Builder
					for line, err := range r.DotLines(DotOptions{Unstuff: UnstuffNone}, 0) {
						if err != nil {
							return b.String(), err
						}
						b.WriteString(string(line) + "\n")
					}
					return b.String(), nil
				},
			} {
				r := NewReader(strings.NewReader(tt.in), 0)
				for range tt.replies {
					if _, err := r.Line(); err != nil {
						t.Fatal(err)
					}
				}
				got, err := read(r)
				if strings.ReplaceAll(got, "\r", "") != strings.ReplaceAll(tt.want, "\r", "") || err != tt.err {
					t.Errorf("%q, %v, want %q, %v", got, err, tt.want, tt.err)
				}
				if rest, _ := io.ReadAll(r); err == nil && string(rest) != tt.rest {
					t.Errorf("rest %q, want %q", rest, tt.rest)
				}
			}
		})
	}
}

func TestDotLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 30)
	tests := []struct {
		name, in string
		opts     DotOptions
		want     []string // "!" and the text for an error
		rest     string
	}{
		{name: "empty", in: ".\r\nrest", rest: "rest"},
		{name: "lines", in: "a\r\n\r\n..b\r\nc\n.\r\n.\r\nrest", want: []string{"a", "", ".b", "c", ""}, rest: "rest"},
		{name: "lenient", in: "a\n.\nrest", opts: DotOptions{LenientEnd: true}, want: []string{"a"}, rest: "rest"},
		{name: "kept dots", in: ".a\r\n..b\r\n..\r\n.\r\n", opts: DotOptions{Unstuff: UnstuffLone}, want: []string{".a", "..b", "."}},
		{name: "cut", in: "a\r\nb", want: []string{"a", "!unexpected EOF"}},
		{name: "cut between lines", in: "a\r\n", want: []string{"a", "!unexpected EOF"}},
		{name: "long", in: "a\r\n" + long + "\r\n.\r\nb\r\n", want: []string{"a", "!the server sent a line of more than 20 bytes"}, rest: "b\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := NewReader(strings.NewReader(tt.in), 0)
			var got []string
			for line, err := range r.DotLines(tt.opts, 20) {
				if err != nil {
					got = append(got, "!"+err.Error())
				} else {
					got = append(got, string(line))
				}
			}
			rest, _ := io.ReadAll(r)
			if strings.Join(got, "|") != strings.Join(tt.want, "|") || string(rest) != tt.rest {
				t.Errorf("got %q, rest %q; want %q, rest %q", got, rest, tt.want, tt.rest)
			}
		})
	}
}

// stuff applies the dot-stuffing of RFC 3977, section 3.1.1.
func stuff(content []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.SplitAfterSeq(content, []byte("\r\n")) {
		if bytes.HasPrefix(line, []byte(".")) {
			b.WriteByte('.')
		}
		b.Write(line)
	}
	b.WriteString(".\r\n")
	return b.Bytes()
}

func FuzzDotReaderRoundTrip(f *testing.F) {
	f.Add([]byte(""), uint8(0))
	f.Add([]byte(".\r\n..\r\n.a\r\n\r\n"), uint8(1))
	f.Add([]byte("a\n.\nb\r.\r\r\n"), uint8(3))
	f.Fuzz(func(t *testing.T, content []byte, size uint8) {
		if len(content) > 0 {
			content = slices.Concat(bytes.TrimSuffix(content, []byte("\r\n")), []byte("\r\n"))
		}
		in := append(stuff(content), "200 next\r\n"...)
		// An iotest reader delivers the input in small pieces.
		r := NewReader(bufio.NewReaderSize(&chunks{in, int(size)%7 + 1}, 16), 0)
		got, err := io.ReadAll(r.Dot(DotOptions{}))
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("got %q, %v; want %q", got, err, content)
		}
		if reply, err := r.Reply(ReplyLimits{}); err != nil || reply.Code != 200 {
			t.Fatalf("after the block: %v, %v", reply, err)
		}
	})
}

type chunks struct {
	rest []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.size, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}

func BenchmarkDotReader(b *testing.B) {
	line := strings.Repeat("x", 70) + "\r\n"
	plain := strings.Repeat(line, 64<<10)
	for name, content := range map[string]string{
		"lines":       plain,
		"quoted mail": strings.Repeat("> some words in a line\r\n", 200<<10),
		"dots":        strings.Repeat("..\r\n", 1<<20),
		"one line":    strings.Repeat("x", 4<<20) + "\r\n",
	} {
		in := content + ".\r\n"
		b.Run(name+"/WriteTo", func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				r := NewReader(strings.NewReader(in), 0)
				if _, err := io.Copy(io.Discard, r.Dot(DotOptions{})); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/Read", func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			buf := make([]byte, 32<<10)
			for b.Loop() {
				d := NewReader(strings.NewReader(in), 0).Dot(DotOptions{})
				for {
					if _, err := d.Read(buf); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
