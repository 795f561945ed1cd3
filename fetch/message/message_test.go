package message

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestWildMessages(t *testing.T) {
	t.Parallel()
	for _, w := range wildMessages {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			for _, message := range []string{w.message, strings.ReplaceAll(strings.ReplaceAll(w.message, "\r\n", "\n"), "\n", "\r\n")} {
				unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
				var got []string
				for p, err := range Parts(strings.NewReader(message)) {
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(p.Body())
					if err != nil {
						t.Fatalf("part %d: %v", p.Number, err)
					}
					got = append(got, unix(string(body)))
				}
				want := slices.Clone(w.parts)
				for i := range want {
					want[i] = unix(want[i])
				}
				if w.parts != nil && !slices.Equal(got, want) {
					t.Errorf("parts: got %.200q, want %.200q", got, want)
				}
				text, err := io.ReadAll(Text(strings.NewReader(message)))
				if err != nil {
					t.Fatal(err)
				}
				if !utf8.Valid(text) {
					t.Errorf("text is not UTF-8: %.200q", text)
				}
				if w.text != "*" && unix(string(text)) != unix(w.text) {
					t.Errorf("text: got %.200q, want %.200q", text, w.text)
				}
			}
		})
	}
}

func TestPartsDoNotDependOnReadSizes(t *testing.T) {
	t.Parallel()
	for _, w := range wildMessages {
		if len(w.message) > 2000 {
			continue
		}
		for p, err := range Parts(iotest.OneByteReader(strings.NewReader(w.message))) {
			if err != nil {
				t.Fatal(err)
			}
			q, err := OpenPart(strings.NewReader(w.message), p.Number)
			if err != nil {
				t.Fatal(err)
			}
			a, err1 := io.ReadAll(iotest.OneByteReader(p.Body()))
			b, err2 := io.ReadAll(q.Body())
			if err1 != nil || err2 != nil || string(a) != string(b) {
				t.Errorf("%s: %q, %v; %q, %v", w.name, a, err1, b, err2)
			}
		}
	}
}

func TestTooManyParts(t *testing.T) {
	t.Parallel()
	n := 0
	var last error
	for _, err := range Parts(strings.NewReader(mixedHead + strings.Repeat("--XX\n\n\n", 10_001))) {
		n, last = n+1, err
	}
	if !errors.Is(last, ErrTooManyParts) || n != maxParts+1 {
		t.Errorf("%d steps, then %v", n, last)
	}
}

func TestReadErrorsAreReturned(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, message := range []string{"Subject: x", "Subject: x\n\nhello", mixedHead + "--XX\n\none\n"} {
		r := func() io.Reader { return io.MultiReader(strings.NewReader(message), iotest.ErrReader(broken)) }
		if _, err := io.ReadAll(Text(r())); !errors.Is(err, broken) {
			t.Errorf("text of %q: %v", message, err)
		}
		var last error
		for p, err := range Parts(r()) {
			if last = err; err == nil {
				_, last = io.ReadAll(p.Body())
			}
		}
		if !errors.Is(last, broken) {
			t.Errorf("parts of %q: %v", message, last)
		}
	}
}

func TestPartDescription(t *testing.T) {
	t.Parallel()
	const m = mixedHead + "--XX\n\none\n--XX\nContent-Type: Image/PNG; name=\"=?utf-8?q?=C3=A9?=\"\nContent-ID: <a@b>\n" +
		"Content-Disposition: attachment; filename*=utf-8''%C3%A9.png\n\nx\n--XX--\n"
	p, err := OpenPart(strings.NewReader(m), 2)
	if err != nil {
		t.Fatal(err)
	}
	if p.ContentType != "image/png" || p.Name != "é.png" || p.ContentID != "a@b" || !p.Attachment {
		t.Errorf("got %+v", p)
	}
	if p, err := OpenContentID(strings.NewReader(m), "a@b"); err != nil || p.Number != 2 {
		t.Errorf("by content-id: %v, %v", p, err)
	}
	if _, err := OpenPart(strings.NewReader(m), 3); !errors.Is(err, ErrNoPart) {
		t.Errorf("part 3: %v", err)
	}
	if _, err := OpenContentID(strings.NewReader(m), "c@d"); !errors.Is(err, ErrNoPart) {
		t.Errorf("part c@d: %v", err)
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	head, rest := SplitHead([]byte("From x\nA: 1\r\nb: two\n\tmore\r\nno field\n folded\nA: 3\n\nbody\n\n"))
	h := ParseHeader(head)
	if string(rest) != "body\n\n" || !slices.Equal(h["A"], []string{"1", "3"}) || h.Get("B") != "two\tmore" || len(h) != 2 {
		t.Errorf("got %v, rest %q", h, rest)
	}
	for in, want := range map[string]string{
		"plain": "plain", "=?utf-8?q?=C3=BC?= x": "ü x", "caf\xe9": "café", "=?klingon?q?x?=": "=?klingon?q?x?=",
		"=?iso-8859-1?B?/A==?=": "ü", "Grüße": "Grüße", "=?": "=?",
	} {
		if got := Decode(in); got != want {
			t.Errorf("Decode(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestReadHeadReadsLittle(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"A: b\n\nbody", "A: b\r\n\r\nbody", "\nbody", "\r\nbody", "A: b", ""} {
		head, err := ReadHead(iotest.OneByteReader(strings.NewReader(s)), 0)
		want, _ := SplitHead([]byte(s))
		if err != nil || string(head) != string(want) {
			t.Errorf("%q: got %q, %v", s, head, err)
		}
	}
	if head, err := ReadHead(strings.NewReader(strings.Repeat("x", 1000)), 100); err != nil || len(head) != 100 {
		t.Errorf("got %d, %v", len(head), err)
	}
}

func FuzzParts(f *testing.F) {
	for _, w := range wildMessages {
		if len(w.message) < 5000 {
			f.Add([]byte(w.message))
		}
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		total := 0
		for p, err := range Parts(strings.NewReader(string(message))) {
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, p.raw)
			if err != nil {
				t.Fatal(err)
			}
			total += int(n)
			q, err := OpenPart(strings.NewReader(string(message)), p.Number)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, q.Body()); err != nil {
				t.Fatal(err)
			}
		}
		if total > len(message) {
			t.Errorf("%d bytes in the parts of a message of %d", total, len(message))
		}
		text, err := io.ReadAll(Text(strings.NewReader(string(message))))
		if err != nil && !strings.Contains(err.Error(), "html") {
			t.Fatal(err)
		}
		if !utf8.Valid(text) {
			t.Error("text is not UTF-8")
		}
	})
}
