package telnet

import (
	"fmt"
	"strings"
	"testing"
)

// decode decodes a stream in pieces of size bytes. It returns the data, with signals in brackets.
func decode(d *decoder, src string, size int) string {
	var out strings.Builder
	dst := make([]byte, size)
	for rest := []byte(src); len(rest) > 0; {
		piece := rest[:min(size, len(rest))]
		n, read, sig := d.next(dst, piece)
		rest = rest[read:]
		out.Write(dst[:n])
		switch sig {
		case sigCommand:
			fmt.Fprintf(&out, "[%s]", commandName(d.command))
		case sigNegotiate:
			fmt.Fprintf(&out, "[%s %s]", commandName(d.command), optionName(d.option))
		case sigSubneg:
			fmt.Fprintf(&out, "[SB %s %q]", optionName(d.option), d.payload)
		}
	}
	return out.String()
}

func TestDecoder(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"text", "hello\r\n", "hello\r\n"},
		{"CR NUL is a CR", "a\r\x00b", "a\rb"},
		{"two of them", "\r\x00\r\x00", "\r\r"},
		{"CR before something else stays", "a\rb", "a\rb"},
		{"NUL elsewhere is data", "a\x00b", "a\x00b"},
		{"bytes above 127", "caf\xe9\xfe\x80", "caf\xe9\xfe\x80"},
		{"255 is doubled", "a\xff\xffb", "a\xffb"},
		{"255 between CR and NUL", "\r\xff\xff\x00", "\r\xff\x00"},
		{"a command between CR and NUL", "\r\xff\xf1\x00x", "\r[NOP]x"},
		{"commands without option", "a\xff\xf1\xff\xf6\xff\xf2\xff\xef\xff\xf9b", "a[NOP][AYT][DM][EOR][GA]b"},
		{"an unknown command", "a\xff\x01b", "a[1]b"},
		{"negotiation", "\xff\xfb\x01\xff\xfc\x03\xff\xfd\x18\xff\xfe\x1f", "[WILL ECHO][WONT SGA][DO TTYPE][DONT NAWS]"},
		{"an option without name", "\xff\xfd\xc8", "[DO 200]"},
		{"option 255", "\xff\xfd\xffx", "[DO 255]x"},
		{"subnegotiation", "a\xff\xfa\x18\x01\xff\xf0b", `a[SB TTYPE "\x01"]b`},
		{"255 in a subnegotiation", "\xff\xfa\x1f\xff\xff\xff\xff\xff\xf0", `[SB NAWS "\xff\xff"]`},
		{"an empty one", "\xff\xfa\x18\xff\xf0", `[SB TTYPE ""]`},
		{"one without option", "a\xff\xfa\xff\xf0b", `a[SB 255 ""]b`},
		{"one that a command cuts off", "\xff\xfa\x18\x01\xff\xfd\x03x", "[DO SGA]x"},
		{"one that another cuts off", "\xff\xfa\x18\x01\xff\xfa\x18\x01\xff\xf0x", `[SB TTYPE "\x01"]x`},
		{"an end without beginning", "a\xff\xf0b", "a[SE]b"},
		{"as long as may be", "\xff\xfa\x18" + strings.Repeat("x", maxSubneg) + "\xff\xf0y", `[SB TTYPE "` + strings.Repeat("x", maxSubneg) + `"]y`},
		{"too long", "\xff\xfa\x18" + strings.Repeat("x", maxSubneg+1) + "\xff\xf0y", "y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 2, 3, 1 << 16} {
				if got := decode(new(decoder), tt.in, size); got != tt.want {
					t.Errorf("in pieces of %d: %q, want %q", size, got, tt.want)
				}
			}
		})
	}
	if got := decode(&decoder{binary: true}, "\r\x00\r\n\xff\xff", 9); got != "\r\x00\r\n\xff" {
		t.Errorf("binary: %q", got)
	}
}

func TestEncoder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		e    encoder
		more bool
		in   []string
		want string
	}{
		{"text", encoder{}, true, []string{"ab\r\nc\n"}, "ab\r\nc\n"},
		{"Enter", encoder{}, false, []string{"a\r", "b"}, "a\r\x00b"},
		{"CR within", encoder{}, true, []string{"a\rb"}, "a\r\x00b"},
		{"CR LF in two pieces", encoder{}, true, []string{"a\r", "\nb"}, "a\r\nb"},
		{"CR and another in two pieces", encoder{}, true, []string{"a\r", "b"}, "a\r\x00b"},
		{"255", encoder{}, true, []string{"\xff\xfe"}, "\xff\xff\xfe"},
		{"line ends", encoder{lineEnds: true}, true, []string{"a\nb\r\n", "c\r", "\n"}, "a\r\nb\r\nc\r\n"},
		{"binary", encoder{binary: true}, true, []string{"a\rb\xff\n"}, "a\rb\xff\xff\n"},
	}
	for _, tt := range tests {
		var got []byte
		for _, s := range tt.in {
			got = tt.e.encode(got, []byte(s), tt.more)
		}
		if string(got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// FuzzCodec checks that the division into pieces has no effect, that memory is bounded, and that
// decoding reverses encoding.
func FuzzCodec(f *testing.F) {
	for _, s := range []string{"", "a\r\x00b\r\n", "\xff\xff\xff\xfd\x18", "\xff\xfa\x18\x01\xff\xf0", "\xff\xfa\xff\xfa\xff", "\xff", "\r\xff\xff\x00"} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, binary bool) {
		whole := &decoder{binary: binary}
		want := decode(whole, string(data), len(data)+1)
		if got := decode(&decoder{binary: binary}, string(data), 1); got != want {
			t.Errorf("byte by byte %q, at once %q", got, want)
		}
		if len(whole.payload) > maxSubneg {
			t.Errorf("%d bytes kept", len(whole.payload))
		}
		e := encoder{binary: binary}
		if got := decode(&decoder{binary: binary}, string(e.encode(nil, data, false)), len(data)+1); got != string(data) {
			t.Errorf("%q came back as %q", data, got)
		}
	})
}
