package serve

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A pear, two PEARS; 3.5":         "a pear two pears 3 5",
		"Äpfel und naïve":                "äpfel und naïve",
		"梨は fruit":                       "梨 は fruit",
		strings.Repeat("x", 41) + " end": "end",
		"":                               "",
	} {
		var got []string
		splitWords(text, func(word string, _, _ int) { got = append(got, word) })
		if strings.Join(got, " ") != want {
			t.Errorf("%q has the words %q", text, got)
		}
	}
}

var someFiles = []indexedFile{{"a.warc.gz", 10, time.Unix(1, 0)}}

func someIndex() *textIndex {
	x := &textIndex{files: someFiles, words: make(map[string][]uint32)}
	for i := range 100 {
		title := ""
		if i == 50 {
			title = "About pears"
		}
		x.add(indexedDoc{fmt.Sprintf("http://h.example/%d", i), title}, fmt.Sprintf("fruit fruit number%d pears", i%10))
	}
	return x
}

func TestTextIndex(t *testing.T) {
	t.Parallel()
	x := someIndex()
	var file bytes.Buffer
	if err := x.write(&file); err != nil {
		t.Fatal(err)
	}
	back, err := readIndex(bytes.NewReader(file.Bytes()), someFiles)
	if err != nil || back.postings != x.postings {
		t.Fatalf("%v, %v", back, err)
	}
	for query, want := range map[string]int{"fruit": 100, "FRUIT number3": 10, "number3 number4": 0, "nothing": 0, "about": 1, "": 0} {
		if got := back.find(query); len(got) != want {
			t.Errorf("%q finds %d documents, want %d", query, len(got), want)
		}
	}
	if got := back.find("pears"); got[0].URL != "http://h.example/50" || got[1].URL != "http://h.example/0" {
		t.Errorf("the first documents are %v", got[:2])
	}
	changed := slices.Clone(someFiles)
	changed[0].Size++
	if _, err := readIndex(bytes.NewReader(file.Bytes()), changed); err == nil {
		t.Error("the index of another archive was read")
	}
	if _, err := readIndex(bytes.NewReader(file.Bytes()[:file.Len()/2]), someFiles); err == nil {
		t.Error("half of an index was read")
	}
}

// unpacked returns the text of an index.
func unpacked(x *textIndex) string {
	var file bytes.Buffer
	if x.write(&file) != nil {
		return ""
	}
	z, err := gzip.NewReader(&file)
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(z)
	return string(text)
}

func FuzzReadIndex(f *testing.F) {
	f.Add(unpacked(someIndex()))
	f.Add(`{"version":1,"files":[{"name":"a.warc.gz","size":10,"modified":"1970-01-01T00:00:01Z"}],"docs":1}` + "\n" + `{"url":"http://h.example/"}` + "\nword 0\nother 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		var file bytes.Buffer
		z := gzip.NewWriter(&file)
		io.WriteString(z, text)
		z.Close()
		x, err := readIndex(&file, someFiles)
		if err != nil {
			return
		}
		for word := range x.words {
			x.find(word) // no index is out of range
		}
	})
}

// marks returns a text with brackets around the words of a query.
func marks(text, query string) string {
	var b strings.Builder
	for _, m := range markWords(text, query) {
		if m.Word {
			m.Text = "[" + m.Text + "]"
		}
		b.WriteString(m.Text)
	}
	return b.String()
}

func TestExcerptsHaveAllWordsOfTheSearch(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("äöü ", 100)
	for _, tt := range []struct{ text, query, want string }{
		{"In MARCH the\nconference begins, in march.", "march conference", "In [MARCH] the [conference] begins, in [march]."},
		{"İ pear of Pears", "pear", "İ [pear] of Pears"},
		{"梨は fruit", "梨", "[梨]は fruit"},
		{"nothing", "pear", ""},
		{far + "a ripe Pear " + far + "and an Apple " + far, "apple zebra pear", "… " + strings.Repeat("äöü ", 6) + "a ripe [Pear]" + strings.Repeat(" äöü", 7) +
			" … " + strings.Repeat("äöü ", 6) + "and an [Apple]" + strings.Repeat(" äöü", 7) + " …"},
	} {
		if got := marks(excerpt(tt.text, tt.query), tt.query); got != tt.want {
			t.Errorf("%.30q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add("a ripe pear", "pear ripe")
	f.Add("梨は\xff İ", "は i̇")
	f.Fuzz(func(t *testing.T, text, query string) {
		e := excerpt(text, query)
		if len(e) > 10*maxMarked*(excerptSize+maxWord) {
			t.Errorf("the excerpt has %d bytes", len(e))
		}
		var b strings.Builder
		for _, m := range markWords(e, query) {
			b.WriteString(m.Text)
		}
		if b.String() != e {
			t.Errorf("%q became %q", e, b.String())
		}
	})
}
