package tn3270

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/encoding/charmap"
)

// ebcdic encodes text.
func ebcdic(s string) string {
	out, err := charmap.CodePage037.NewEncoder().String(s)
	if err != nil {
		panic(err)
	}
	return out
}

// at returns the order Set Buffer Address.
func at(row, column int) string {
	return string(appendAddress([]byte{orderSBA}, row*Columns+column))
}

// apply applies records to a new screen.
func apply(t *testing.T, records ...string) *Screen {
	t.Helper()
	s := new(Screen)
	for _, r := range records {
		if _, err := s.Apply([]byte(r)); err != nil {
			t.Fatalf("%x: %v", r, err)
		}
	}
	return s
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b byte
		want int // -1 for an error
	}{
		{0x40, 0x40, 0}, {0xc1, 0x50, 80}, {0x5d, 0x7f, 1919}, // GA23-0059, "Buffer addresses"
		{0x00, 0x00, 0}, {0x00, 0x50, 80}, {0x07, 0x7f, 1919},
		{0x01, 0xff, 511}, {0x5d, 0xff, 1919}, {0xdd, 0x3f, 1919},
		{0x07, 0x80, -1}, {0x3f, 0xff, -1}, {0x5e, 0x40, -1}, {0xff, 0xff, -1}, {0x80, 0x00, -1}, {0xbf, 0xff, -1},
	}
	for _, tt := range tests {
		got, err := parseAddress(tt.a, tt.b)
		if err != nil {
			got = -1
		}
		if got != tt.want {
			t.Errorf("%02x%02x: %d, want %d (%v)", tt.a, tt.b, got, tt.want, err)
		}
	}
	for n := range size {
		p := appendAddress(nil, n)
		if got, err := parseAddress(p[0], p[1]); got != n || err != nil {
			t.Fatalf("%d became %x, and that %d (%v)", n, p, got, err)
		}
		for _, c := range p { // each must be a graphic character
			if r := charmap.CodePage037.DecodeByte(c); !unicode.IsPrint(r) || r > unicode.MaxASCII && !strings.ContainsRune("¢¬¦", r) {
				t.Fatalf("%d has the byte %02x", n, c)
			}
		}
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	const ew = "\xf5\x00"
	tests := []struct {
		name    string
		records []string
		want    string
	}{
		{"text", []string{ew + ebcdic("Hello, ¢ [world]")}, "Hello, ¢ [world]\n"},
		{"local codes", []string{"\x05\x00" + ebcdic("a"), "\x01\x00" + at(0, 1) + ebcdic("b")}, "ab\n"},
		{"alternate size", []string{"\x7e\x00" + ebcdic("a")}, "a\n"},
		{"set address", []string{ew + at(1, 2) + ebcdic("x")}, "\n  x\n"},
		{"over the end", []string{ew + at(23, 79) + ebcdic("ab")}, "b" + strings.Repeat("\n", 23) + strings.Repeat(" ", 79) + "a\n"},
		{"write starts at the cursor", []string{ew + at(0, 3) + "\x13", "\xf1\x00" + ebcdic("x")}, "   x\n"},
		{"erase/write erases", []string{ew + ebcdic("abc"), ew + at(0, 1) + ebcdic("x")}, " x\n"},
		{"write does not", []string{ew + ebcdic("abc"), "\xf1\x00" + at(0, 1) + ebcdic("x")}, "axc\n"},
		{"a field takes a place", []string{ew + ebcdic("a") + "\x1d\x60" + ebcdic("b")}, "a b\n"},
		{"a hidden field", []string{ew + ebcdic("a") + "\x1d\x4c" + ebcdic("secret") + "\x1d\x40" + ebcdic("b")}, "a        b\n"},
		{"a hidden field goes around", []string{ew + ebcdic("secret") + "\x1d\x40" + ebcdic("b") + at(20, 0) + "\x1d\x4c"}, "       b\n"},
		{"extended field", []string{ew + "\x29\x02\xc0\x4c\x42\xf2" + ebcdic("secret") + "\x29\x00" + ebcdic("b")}, "        b\n"},
		{"set attribute", []string{ew + ebcdic("a") + "\x28\x42\xf2" + ebcdic("b")}, "ab\n"},
		{"modify field", []string{ew + "\x1d\x4c" + ebcdic("now seen"), "\xf1\x00" + at(0, 0) + "\x2c\x02\x42\xf1\xc0\x40" + ebcdic("N")}, " Now seen\n"},
		{"repeat", []string{ew + "\x3c\x40\xc5" + ebcdic("=x")}, "=====x\n"},
		{"repeat graphic", []string{ew + "\x3c\x40\xc2\x08\xa2" + ebcdic("x")}, "??x\n"},
		{"repeat all", []string{ew + "\x3c\x40\x40" + ebcdic("=")}, strings.Repeat(strings.Repeat("=", 80)+"\n", 24)},
		{"graphic escape", []string{ew + "\x08\xa2" + ebcdic("x")}, "?x\n"},
		{"format controls", []string{ew + ebcdic("a") + "\x00\x0c\x0d\x15\x19\x1c\x1e\x3f\xff\x1b\x0a" + ebcdic("b")}, "a     *;    b\n"},
		{"program tab", []string{ew + "\x1d\x60" + ebcdic("ab") + "\x1d\x40" + ebcdic("cd") + at(0, 1) + "\x05" + ebcdic("x")}, " ab xd\n"},
		{"program tab clears after a character", []string{ew + "\x1d\x40" + ebcdic("abc") + "\x1d\x40" + ebcdic("d") + at(0, 1) + ebcdic("x") + "\x05" + ebcdic("y")}, " x   y\n"},
		{"program tab on a field", []string{ew + "\x1d\x40" + ebcdic("abc") + at(0, 0) + "\x05" + ebcdic("x")}, " xbc\n"},
		{"program tab without a field", []string{ew + at(0, 5) + "\x05" + ebcdic("x")}, "x\n"},
		{"erase unprotected", []string{ew + "\x1d\x60" + ebcdic("ab") + "\x1d\x40" + ebcdic("cdef") + at(0, 0) + "\x12\x40\xc6" + ebcdic("X")}, " ab   Xf\n"},
		{"erase all unprotected", []string{ew + "\x1d\x60" + ebcdic("ab") + "\x1d\x41" + ebcdic("cdef"), "\x6f"}, " ab\n"},
		{"structured fields are ignored", []string{ew + ebcdic("a"), "\xf3\x00\x04\x03\x80\x00\x00\x09"}, "a\n"},
		{"nothing", []string{"", "\xf1", "\xf1\x00"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := apply(t, tt.records...).Text(); got != tt.want {
				t.Errorf("got\n%q, want\n%q", got, tt.want)
			}
		})
	}
}

func TestInvalidRecords(t *testing.T) {
	t.Parallel()
	for want, records := range map[string][]string{
		"unknown 3270 command": {"\x99"},
		"the record ends within an order": {"\xf1\x00\x11", "\xf1\x00\x11\x40", "\xf1\x00\x1d", "\xf1\x00\x29", "\xf1\x00\x29\x02\xc0\x40",
			"\xf1\x00\x2c\xff", "\xf1\x00\x28\x42", "\xf1\x00\x3c\x40\x40", "\xf1\x00\x3c\x40", "\xf1\x00\x3c\x40\x40\x08",
			"\xf1\x00\x12\x40", "\xf1\x00\x08"},
		"is beyond the screen of 24 by 80":          {"\xf1\x00\x11\x07\x80", "\xf1\x00\x3c\x7f\x7f\x40", "\xf1\x00\x12\xff\xff"},
		"has a reserved form":                       {"\xf1\x00\x11\x80\x00"},
		"where no field starts":                     {"\xf1\x00\x2c\x01\xc0\x40"},
		"a structured field without a type":         {"\xf3\x00"},
		"a structured field with an invalid length": {"\xf3\x00\x02\x01", "\xf3\x00\x09\x01"},
	} {
		for _, r := range records {
			if _, err := new(Screen).Apply([]byte(r)); !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%x: error %v, want %q", r, err, want)
			}
		}
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	form := "\xf5\x03\x1d\x60" + ebcdic("ab") + "\x1d\x41" + ebcdic("cd") + "\x1d\x60"
	tests := []struct{ name, before, record, want string }{
		{"query", "", "\xf3\x00\x05\x01\xff\x02", string(queryReply)},
		{"query list, length left out", "", "\xf3\x00\x00\x01\xff\x03\x00", string(queryReply)},
		{"read modified", "\xf5\x02" + form[2:], "\xf6", "\x60\x40\x40\x11\x40\xc4" + ebcdic("cd")},
		{"modified reset", form + at(0, 3) + "\x1d\x40", "\xf6", "\x60\x40\x40"},
		{"read an unformatted screen", "\xf5\x00" + at(0, 7) + ebcdic("x") + "\x08\xa2", "\x06", "\x60\x40\x40" + ebcdic("x") + "\x08\xa2"},
	}
	for _, tt := range tests {
		s := apply(t, tt.before)
		if got, err := s.Apply([]byte(tt.record)); string(got) != tt.want || err != nil {
			t.Errorf("%s: %x (%v), want %x", tt.name, got, err, tt.want)
		}
	}
	got, err := apply(t, form).Apply([]byte("\xf2"))
	if want := "\x60\x40\x40\x1d\x60" + ebcdic("ab") + "\x1d\xc1" + ebcdic("cd") + "\x1d\x60"; !strings.HasPrefix(string(got), want) || err != nil {
		t.Errorf("read buffer: %x (%v)", got, err)
	}
	// The length fields of the query reply match its parts.
	for p := queryReply[1:]; len(p) > 0; p = p[p[1]:] {
		if int(p[1]) > len(p) {
			t.Fatalf("the query reply ends early: %x", queryReply)
		}
	}
}

// press presses the keys of an ANSI terminal and returns the records to send.
func press(t *testing.T, s *Screen, keys string) (sent string) {
	t.Helper()
	for p := []byte(keys); len(p) > 0; {
		k, n := ParseKey(p)
		if n == 0 {
			t.Fatalf("no key: %q", p)
		}
		p = p[n:]
		switch {
		case k.AID != 0:
			sent += string(s.Press(k.AID))
		case k.Rune != 0:
			s.Type(k.Rune)
		case k.Reset:
			s.Reset()
		default:
			s.Move(k.Move)
		}
	}
	return sent
}

func TestInput(t *testing.T) {
	t.Parallel()
	// Two fields of four characters, with the cursor in the first and a protected text between them.
	form := "\xf5\x03\x1d\x60" + ebcdic("user") + "\x1d\x40\x13" + "\x00\x00\x00\x00" + "\x1d\xf0" + ebcdic("word") + "\x1d\x4c\x00\x00\x00\x00\x1d\xf0"
	tests := []struct{ name, record, keys, want string }{
		{"nothing typed", form, "\r", "\x7d\x40\xc6"},
		{"typed", form, "joe\r", "\x7d\x40\xc9\x11\x40\xc6" + ebcdic("joe")},
		{"tab", form, "a\tb\r", "\x7d\x40\xd1\x11\x40\xc6" + ebcdic("a") + "\x11\x40\x50" + ebcdic("b")},
		{"tab goes around", form, "\t\ta\r", "\x7d\x40\xc7\x11\x40\xc6" + ebcdic("a")},
		{"back tab", form, "ab\x1b[Zc\r", "\x7d\x40\xc7\x11\x40\xc6" + ebcdic("cb")},
		{"a full field leads to the next", form, "abcdef\r", "\x7d\x40\xd2\x11\x40\xc6" + ebcdic("abcd") + "\x11\x40\x50" + ebcdic("ef")},
		{"backspace", form, "ab\x7fc\r", "\x7d\x40\xc8\x11\x40\xc6" + ebcdic("ac")},
		{"backspace not beyond the field", form, "\x7f\x7fa\r", "\x7d\x40\xc7\x11\x40\xc6" + ebcdic("a")},
		{"protected", form, "\x1b[D\x1b[Dx\x1b[Cx\r", "\x7d\x40\xc5"},
		{"no such character", form, "€\x1b[Q\x1b[1;2Q\x1bx\x01a\r", "\x7d\x40\xc7\x11\x40\xc6" + ebcdic("a")},
		{"another letter", form, "é\r", "\x7d\x40\xc7\x11\x40\xc6" + ebcdic("é")},
		{"up and down", form, "\x1bOA\x1b[B\r", "\x7d\x40\xc6"},
		{"function keys", form, "\x1b1\x12\x1b9\x12\x1bOP\x12\x1b[24~\x12\x1bf24", "\xf1\x40\xc6\xf9\x40\xc6\xf1\x40\xc6\x7c\x40\xc6\x4c\x40\xc6"},
		{"program access and clear", form, "a\x1bp1\x12\x1bp3\x12\x1bc", "\x6c\x6b\x6d"},
		{"locked", form, "\ra\r", "\x7d\x40\xc6"},
		{"locked at first", "\xf5\x00", "a\r", ""},
		{"without fields", "\xf5\x02", "ab\r", "\x7d\x40\xc2" + ebcdic("ab")},
		{"modified by the host", "\xf5\x02\x1d\xc1" + ebcdic("a") + "\x1d\x60", "\r", "\x7d\x40\x40\x11\x40\xc1" + ebcdic("a")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := press(t, apply(t, tt.record), tt.keys); got != tt.want {
				t.Errorf("sent %x, want %x", got, tt.want)
			}
		})
	}
}

func TestKeysInPieces(t *testing.T) {
	t.Parallel()
	for s, want := range keymap() {
		if len(s) > maxKeyLen {
			t.Fatalf("%q is longer than the longest", s)
		}
		for i := 1; i < len(s); i++ {
			if k, n := ParseKey([]byte(s[:i])); n != 0 {
				t.Errorf("%q is %v before it ends", s[:i], k)
			}
		}
		if k, n := ParseKey([]byte(s + "x")); n != len(s) || k != want {
			t.Errorf("%q is %v, %d bytes", s, k, n)
		}
	}
	for i := 1; i <= 24; i++ {
		if !slices.Contains(functionKeys[:], pf(i)) {
			t.Error(i)
		}
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	s := apply(t, "\xf5\x02"+ebcdic("a")+"\x1d\x48"+ebcdic("bright")+"\x1d\x40\x13"+ebcdic("b")+at(1, 0)+"\x27\x1b"+ebcdic("[2J"))
	got := string(s.Draw(nil, 9, 2))
	if want := "\x1b[1;1H\x1b[Ka\x1b[1m bright\x1b[m \x1b[2;1H\x1b[K  [2J    \x1b[1;10H"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(s.Draw(nil, 80, 25)); !strings.HasSuffix(got, "\x1b[25;1H\x1b[J\x1b[1;10H") {
		t.Errorf("a larger terminal: %q", got)
	}
	if got := s.Draw(nil, 80, 24); strings.Count(string(got), "\x1b[K") != 24 {
		t.Errorf("%q", got)
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte("\xf5\x03\x1d\x60"+ebcdic("user")+"\x1d\x40\x13"), []byte("\xf1\x02\x3c\x40\x40\x08\xa2"), "joe\t\x1b[Z\r")
	f.Add([]byte("\xf3\x00\x05\x01\xff\x02"), []byte("\xf2"), "\x1bf24")
	f.Add([]byte("\x6f"), []byte("\xf1\x00\x05\x05\x29\x01\xc0\x40\x2c\x00\x12\x40\x40"), "\x7f€")
	f.Add([]byte("\xf6"), []byte("\xf1\x00\x11\x07\x80\x1d"), "\x1b")
	f.Fuzz(func(t *testing.T, first, second []byte, keys string) {
		s := new(Screen)
		for _, r := range [][]byte{first, second} {
			reply, _ := s.Apply(r)
			check(t, s, reply)
		}
		for p := []byte(keys); len(p) > 0; {
			k, n := ParseKey(p)
			if n < 0 || n > len(p) {
				t.Fatalf("a key of %d bytes", n)
			}
			if n == 0 {
				break
			}
			p = p[n:]
			s.Move(k.Move)
			s.Type(k.Rune)
			if k.AID != 0 {
				check(t, s, s.Press(k.AID))
				s.Reset()
			}
		}
	})
}

// check checks the bounds of the outputs of a screen.
func check(t *testing.T, s *Screen, sent []byte) {
	if len(sent) > 3*size+3 {
		t.Fatalf("%d bytes to be sent", len(sent))
	}
	lines := strings.Split(strings.TrimSuffix(s.Text(), "\n"), "\n")
	if len(lines) > Rows {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > Columns {
			t.Fatalf("%d columns", n)
		}
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("%q", line)
		}
	}
	if strings.Count(string(s.Draw(nil, Columns, Rows)), "\x1b[K") != Rows {
		t.Fatal("a line is not drawn")
	}
	if row, column := s.Cursor(); row < 0 || row >= Rows || column < 0 || column >= Columns {
		t.Fatalf("the cursor is at %d, %d", row, column)
	}
}
