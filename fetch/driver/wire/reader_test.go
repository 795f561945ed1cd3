package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestCheckLine(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "RETR a b", "\x01\x7f\x80\xff", "\t", "a\u2028b"} {
		if err := CheckLine(s); err != nil {
			t.Errorf("CheckLine(%q) = %v", s, err)
		}
	}
	for s, want := range map[string]unsafeError{
		"PASS geheim\r\nDELE x": {'\r', 11},
		"PASS geheim\nDELE x":   {'\n', 11},
		"PASS geheim\x00":       {0, 11},
		"\r":                    {'\r', 0},
	} {
		err := CheckLine(s)
		var unsafe *unsafeError
		if !errors.As(err, &unsafe) || *unsafe != want || !errors.Is(err, ErrUnsafe) {
			t.Errorf("CheckLine(%q) = %v, want %v", s, err, want)
		} else if strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), map[byte]string{'\r': "CR", '\n': "LF", 0: "NUL"}[want.Byte]) {
			t.Errorf("text of CheckLine(%q): %v", s, err)
		}
	}
}

// readLines reads up to ten lines and describes the results.
func readLines(r *Reader, read func() ([]byte, error)) []string {
	var got []string
	for range 10 {
		line, err := read()
		switch {
		case err == nil:
			got = append(got, string(line))
		case len(line) > 0:
			got = append(got, fmt.Sprintf("%s!%v", line, err))
		default:
			got = append(got, "!"+err.Error())
		}
		if err != nil && !errors.Is(err, ErrLineTooLong) {
			break
		}
	}
	return got
}

func TestLine(t *testing.T) {
	t.Parallel()
	const long = "!the server sent a line of more than 8 bytes"
	tests := []struct {
		name, in  string
		want, raw []string
	}{
		{"nothing", "", []string{"!EOF"}, nil},
		{"CRLF", "a\r\n\r\nb\r\n", []string{"a", "", "b", "!EOF"}, []string{"a\r\n", "\r\n", "b\r\n", "!EOF"}},
		{"bare LF", "a\n\nb\n", []string{"a", "", "b", "!EOF"}, []string{"a\n", "\n", "b\n", "!EOF"}},
		{"other bytes stay", "a\rb\x00\xff\r\r\n", []string{"a\rb\x00\xff\r", "!EOF"}, nil},
		{"cut", "a\r\nb", []string{"a", "b!unexpected EOF"}, nil},
		{"cut after a move in the buffer", "\n001", []string{"", "001!unexpected EOF"}, nil},
		{"cut after CR", "b\r", []string{"b\r!unexpected EOF"}, nil},
		{"longest", "12345678\r\n12345678\nx\n", []string{"12345678", "12345678", "x", "!EOF"}, nil},
		{"too long", "123456789\r\nx\r\n", []string{"12345678" + long, "x", "!EOF"}, nil},
		{"too long by a CR", "12345678\r\r\nx\r\n", []string{"12345678" + long, "x", "!EOF"}, nil},
		{"far too long", strings.Repeat("x", 3*bufferSize) + "\r\ny\n", []string{"xxxxxxxx" + long, "y", "!EOF"}, nil},
		{"too long and cut", "1234567890", []string{"12345678" + long, "!unexpected EOF"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, source := range map[string]io.Reader{
				"whole": strings.NewReader(tt.in),
				"bytes": iotest.OneByteReader(strings.NewReader(tt.in)),
				"three": &chunks{[]byte(tt.in), 3},
				"EOF":   iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				r := NewReader(source, 8)
				if got := readLines(r, r.Line); fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("%s: got %q, want %q", name, got, tt.want)
				}
			}
			if tt.raw != nil {
				r := NewReader(strings.NewReader(tt.in), 8)
				if got := readLines(r, r.RawLine); fmt.Sprint(got) != fmt.Sprint(tt.raw) {
					t.Errorf("raw: got %q, want %q", got, tt.raw)
				}
			}
		})
	}
}

func TestLineAfterTimeout(t *testing.T) {
	t.Parallel()
	timeout := &TimeoutError{}
	r := NewReader(&sequence{[]io.Reader{strings.NewReader("22"), iotest.ErrReader(timeout), strings.NewReader("0 ok\r\n")}}, 0)
	if line, err := r.Line(); err != timeout || len(line) > 0 {
		t.Errorf("Line = %q, %v", line, err)
	}
	if line, err := r.Line(); err != nil || string(line) != "220 ok" {
		t.Errorf("Line again = %q, %v", line, err)
	}
}

func TestMaxLineBeyondTheBuffer(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("x", 2*bufferSize)
	r := NewReader(strings.NewReader(want+"\r\n"+want+"y\r\nz\n"), len(want))
	if line, err := r.Line(); err != nil || string(line) != want {
		t.Errorf("got %d bytes, %v", len(line), err)
	}
	if line, err := r.Line(); !errors.Is(err, ErrLineTooLong) || string(line) != want {
		t.Errorf("got %d bytes, %v", len(line), err)
	}
	if line, err := r.Line(); err != nil || string(line) != "z" {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestReadsAfterLine(t *testing.T) {
	t.Parallel()
	r := NewReader(iotest.HalfReader(strings.NewReader("ok\r\n123body")), 0)
	if _, err := r.Line(); err != nil {
		t.Fatal(err)
	}
	if b, err := r.Peek(2); string(b) != "12" || err != nil {
		t.Errorf("Peek = %q, %v", b, err)
	}
	if b, err := r.ReadByte(); b != '1' || err != nil {
		t.Errorf("ReadByte = %q, %v", b, err)
	}
	p := make([]byte, 2)
	if _, err := io.ReadFull(r, p); string(p) != "23" || err != nil {
		t.Errorf("Read = %q, %v", p, err)
	}
	var b bytes.Buffer
	if n, err := io.Copy(&b, r); b.String() != "body" || n != 4 || err != nil {
		t.Errorf("WriteTo = %q, %d, %v", b.String(), n, err)
	}
	if r.Buffered() != 0 {
		t.Errorf("%d bytes left", r.Buffered())
	}
}

// FuzzLine compares Line with splitting the whole input.
func FuzzLine(f *testing.F) {
	f.Add([]byte("a\r\nb\n\r\n\r\r\nc"), uint8(0))
	f.Add([]byte("123456789\r\n12345678\r\n12345678\r\r\n"), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		const max = 8
		r := NewReader(&chunks{in, int(size)%7 + 1}, max)
		for raw := range bytes.SplitAfterSeq(in, []byte("\n")) {
			line, err := r.Line()
			want, complete := bytes.CutSuffix(raw, []byte("\n"))
			if complete {
				want = bytes.TrimSuffix(want, []byte("\r"))
			}
			switch {
			case complete && len(want) > max, len(want) >= max+2:
				var long *LineTooLongError
				if !errors.As(err, &long) || !bytes.Equal(line, want[:max]) {
					t.Fatalf("%q: got %q, %v", raw, line, err)
				}
				if !complete {
					if _, err := r.Line(); err != io.ErrUnexpectedEOF {
						t.Fatalf("after the cut line %q: %v", raw, err)
					}
				}
			case complete:
				if err != nil || !bytes.Equal(line, want) {
					t.Fatalf("%q: got %q, %v", raw, line, err)
				}
			case len(want) > 0:
				if err != io.ErrUnexpectedEOF || !bytes.Equal(line, want) {
					t.Fatalf("%q: got %q, %v", raw, line, err)
				}
			default:
				if err != io.EOF {
					t.Fatalf("at the end: %q, %v", line, err)
				}
			}
		}
	})
}

// A LineTooLongError of the underlying reader is an ordinary read error: no lines follow it.
func TestWrappedLineTooLongError(t *testing.T) {
	t.Parallel()
	source := fmt.Errorf("on the control connection: %w", &LineTooLongError{Max: 5})
	r := NewReader(io.MultiReader(strings.NewReader("123456\nshort\n"), iotest.ErrReader(source)), 5)
	for i, want := range []struct {
		line string
		cut  bool
	}{{"12345", true}, {"short", false}, {"", false}, {"", false}} {
		line, err := r.Line()
		if string(line) != want.line || IsLineCut(err) != want.cut || i > 1 && err != source {
			t.Errorf("line %d: %q, %v", i, line, err)
		}
	}
}

// An unterminated line that is too long returns io.ErrUnexpectedEOF once, like any last line.
func TestUnterminatedLongLine(t *testing.T) {
	t.Parallel()
	r := NewReader(strings.NewReader(strings.Repeat("x", 200<<10)), 100)
	if _, err := r.Line(); !IsLineCut(err) {
		t.Fatalf("the line: %v", err)
	}
	for _, want := range []error{io.ErrUnexpectedEOF, io.EOF, io.EOF} {
		if line, err := r.Line(); len(line) > 0 || err != want {
			t.Errorf("%q, %v; want %v", line, err, want)
		}
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	elsewhere := fmt.Errorf("on the control connection: %w", &LineTooLongError{Max: 5})
	tests := []struct {
		text  string
		end   error
		lines []string // with "..." if too long
		err   error
	}{
		{"", io.EOF, nil, nil},
		{"one\r\ntwo\n", io.EOF, []string{"one", "two"}, nil},
		{"one\n\ntwo", io.EOF, []string{"one", "", "two"}, nil},
		{"1234567\nshort\n", io.EOF, []string{"12345...", "short"}, nil},
		{"a\n1234567", io.EOF, []string{"a", "12345..."}, nil},
		{"one\ntw", broken, []string{"one"}, broken},
		{"one\ntw", elsewhere, []string{"one"}, elsewhere},
		{"one\ntw", io.ErrUnexpectedEOF, []string{"one"}, io.ErrUnexpectedEOF},
		{"a\n1234567", io.ErrUnexpectedEOF, []string{"a", "12345..."}, io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		var got []string
		var last error
		for line, err := range NewReader(io.MultiReader(strings.NewReader(tt.text), iotest.ErrReader(tt.end)), 5).All() {
			if last != nil {
				t.Fatalf("%q, %v: it goes on after %v", tt.text, tt.end, last)
			}
			switch {
			case IsLineCut(err):
				got = append(got, string(line)+"...")
			case err != nil:
				last = err
			default:
				got = append(got, string(line))
			}
		}
		if !slices.Equal(got, tt.lines) || last != tt.err {
			t.Errorf("%q, %v: %q, %v", tt.text, tt.end, got, last)
		}
	}
}
