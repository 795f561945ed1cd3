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
		splitWords(text, func(word string) { got = append(got, word) })
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

func TestExcerpts(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("äöü ", 100) + "a ripe Pear\nfell " + strings.Repeat("down ", 100)
	before, match, after := excerpt(text, "pear zebra")
	if match != "Pear" || !strings.HasPrefix(before, "… ") || !strings.HasSuffix(before, " ripe ") || !strings.HasPrefix(after, " fell down") || !strings.HasSuffix(after, " …") {
		t.Errorf("%q, %q, %q", before, match, after)
	}
	if _, match, _ := excerpt("İ pear", "pear"); match != "pear" {
		t.Errorf("the match is %q", match)
	}
}
