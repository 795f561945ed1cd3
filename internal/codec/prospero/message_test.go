package prospero

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func lines(s *Scanner) ([]Line, error) {
	var all []Line
	for {
		l, err := s.Line()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, l)
	}
}

func TestScanner(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []Line
	}{
		{"words", "LIST ATTRIBUTES\nB\n", []Line{{"LIST", "ATTRIBUTES"}, {"B"}}},
		{"no end at the end", "A b", []Line{{"A", "b"}}},
		{"runs of blanks", "LINK  L   x \n", []Line{{"LINK", "L", "x"}}},
		{"empty lines", "\n\nA\n\n", []Line{{"A"}}},
		{"quoting within a token", "DATA A' pear is a fruit.\n'\nB", []Line{{"DATA", "A pear is a fruit.\n"}, {"B"}}},
		{"an empty token", "A '' B", []Line{{"A", "", "B"}}},
		{"a quote in quotes", "'it''s' ''''", []Line{{"it's", "'"}}},
		{"any byte in quotes", "'\x00\xff\r'", []Line{{"\x00\xff\r"}}},
		{"nothing", "", nil},
	}
	for _, tt := range tests {
		for name, r := range map[string]io.Reader{"": strings.NewReader(tt.in), ", byte by byte": iotest.OneByteReader(strings.NewReader(tt.in))} {
			got, err := lines(NewScanner(r))
			if !reflect.DeepEqual(got, tt.want) || err != nil {
				t.Errorf("%s%s: %+v, %v; want %+v", tt.name, name, got, err, tt.want)
			}
		}
	}
}

func TestVersion1HasNoQuotes(t *testing.T) {
	t.Parallel()
	s := NewScanner(strings.NewReader("A it's b'c"))
	s.NoQuote = true
	got, err := lines(s)
	if want := []Line{{"A", "it's", "b'c"}}; !reflect.DeepEqual(got, want) || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"a token":  strings.Repeat("x", maxToken+1),
		"a quote":  "'" + strings.Repeat("x", maxToken+1),
		"a line":   strings.Repeat("x ", maxTokens+1),
		"no close": "'abc",
	} {
		if _, err := lines(NewScanner(strings.NewReader(in))); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLongTokenIsStreamed(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("it's\n\x00", 50_000)
	s := NewScanner(strings.NewReader("DATA " + Quote(data) + "\nNEXT\n"))
	if w, err := s.Word(10); w != "DATA" || err != nil {
		t.Fatalf("word %q, %v", w, err)
	}
	if first, err := s.Token(); err != nil {
		t.Fatal(err)
	} else if _, err := io.ReadAll(first); err != nil {
		t.Fatal(err)
	}
	long, err := s.Token()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(long); string(got) != data || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if rest, err := s.Rest(); len(rest) != 0 || err != nil {
		t.Errorf("rest of the line %q, %v", rest, err)
	}
	if next, err := s.Line(); next.At(0) != "NEXT" || err != nil {
		t.Errorf("next line %q, %v", next, err)
	}
}

func FuzzScanner(f *testing.F) {
	f.Add("LINK  L FILE big.txt INTERNET-D PFS.EXAMPLE(11526) ASCII '/srv/pub/big.txt' 0\nATTRIBUTE OBJECT INTRINSIC SIZE SEQUENCE 30000' bytes'\n")
	f.Add("A '' ''''\n\n'x\ny'")
	f.Fuzz(func(t *testing.T, in string) {
		all, err := lines(NewScanner(strings.NewReader(in)))
		if err != nil {
			return
		}
		var out strings.Builder
		for _, l := range all {
			for _, token := range l {
				out.WriteString(" " + Quote(token))
			}
			out.WriteString("\n")
		}
		again, err := lines(NewScanner(strings.NewReader(out.String())))
		if !reflect.DeepEqual(again, all) || err != nil {
			t.Errorf("%q, %v; want %q", again, err, all)
		}
	})
}
