package serve

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxIndexed     = 100_000 // documents of an index
	maxIndexedText = 1 << 20 // bytes of text of a document
	maxIndexWords  = 1 << 20 // different words
	maxPostings    = 8 << 20 // pairs of a word and a document
	maxIndexLine   = 2 << 20 // bytes of a line of the file
	maxIndexFile   = 1 << 30 // bytes of the file without compression
	maxWord        = 40      // bytes of a word; longer ones are not indexed
)

type textIndex struct {
	files    []indexedFile // the archive
	docs     []indexedDoc
	words    map[string][]uint32 // ascending indexes of docs
	postings int
	partial  bool // a limit was reached
}

type indexedFile struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

type indexedDoc struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

type indexHead struct {
	Version int           `json:"version"`
	Files   []indexedFile `json:"files"`
	Docs    int           `json:"docs"`
	Partial bool          `json:"partial,omitempty"`
}

const indexVersion = 1

// splitWords calls f for each word of a text, in lower case, and its place in the text. Characters of
// scripts without spaces between words are words.
func splitWords(text string, f func(word string, from, to int)) {
	start := -1
	end := func(at int) {
		if start >= 0 && at-start <= maxWord {
			f(strings.ToLower(text[start:at]), start, at)
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			end(i)
			f(text[i:i+utf8.RuneLen(r)], i, i+utf8.RuneLen(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if start < 0 {
				start = i
			}
		default:
			end(i)
		}
	}
	end(len(text))
}

func (x *textIndex) add(doc indexedDoc, text string) {
	if len(x.docs) == maxIndexed {
		x.partial = true
		return
	}
	id := uint32(len(x.docs))
	x.docs = append(x.docs, doc)
	splitWords(doc.Title+"\n"+text, func(word string, _, _ int) {
		ids, ok := x.words[word]
		switch {
		case len(ids) > 0 && ids[len(ids)-1] == id:
		case x.postings == maxPostings || !ok && len(x.words) == maxIndexWords:
			x.partial = true
		default:
			x.words[strings.Clone(word)] = append(ids, id)
			x.postings++
		}
	})
}

// find returns the documents that have all words, those with the words in their titles first.
func (x *textIndex) find(query string) []indexedDoc {
	var ids []uint32
	var words []string
	splitWords(query, func(word string, _, _ int) {
		if words = append(words, word); len(words) == 1 {
			ids = slices.Clone(x.words[word])
			return
		}
		ids = slices.DeleteFunc(ids, func(id uint32) bool {
			_, ok := slices.BinarySearch(x.words[word], id)
			return !ok
		})
	})
	inTitle := func(id uint32) int {
		n, title := 0, strings.ToLower(x.docs[id].Title)
		for _, word := range words {
			if strings.Contains(title, word) {
				n--
			}
		}
		return n
	}
	slices.SortStableFunc(ids, func(a, b uint32) int { return inTitle(a) - inTitle(b) })
	var docs []indexedDoc
	for _, id := range ids {
		docs = append(docs, x.docs[id])
	}
	return docs
}

// write writes the index: a line about the archive, a line for each document, and a line for each
// word with the differences of its documents. It is compressed with gzip.
func (x *textIndex) write(w io.Writer) error {
	z := gzip.NewWriter(w)
	out := bufio.NewWriter(z)
	lines := json.NewEncoder(out)
	err := lines.Encode(indexHead{indexVersion, x.files, len(x.docs), x.partial})
	for _, doc := range x.docs {
		err = errors.Join(err, lines.Encode(doc))
	}
	var line []byte
	for _, word := range slices.Sorted(maps.Keys(x.words)) {
		ids := x.words[word]
		line = append(line[:0], word...)
		last := uint32(0)
		for _, id := range ids {
			line = strconv.AppendUint(append(line, ' '), uint64(id-last), 36)
			last = id
		}
		out.Write(append(line, '\n'))
	}
	return errors.Join(err, out.Flush(), z.Close())
}

// readIndex reads an index of these files. The file may be untrusted like the archive.
func readIndex(r io.Reader, files []indexedFile) (*textIndex, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	in := bufio.NewScanner(io.LimitReader(z, maxIndexFile))
	in.Buffer(nil, maxIndexLine)
	var head indexHead
	if !in.Scan() || json.Unmarshal(in.Bytes(), &head) != nil ||
		head.Version != indexVersion || head.Docs < 0 || head.Docs > maxIndexed {
		return nil, errors.Join(in.Err(), errors.New("not an index of this version"))
	}
	if !slices.EqualFunc(head.Files, files, func(a, b indexedFile) bool {
		return a.Name == b.Name && a.Size == b.Size && a.Modified.Equal(b.Modified)
	}) {
		return nil, errors.New("the index is of another archive")
	}
	x := &textIndex{files: files, words: make(map[string][]uint32), partial: head.Partial}
	for range head.Docs {
		var doc indexedDoc
		if !in.Scan() || json.Unmarshal(in.Bytes(), &doc) != nil {
			return nil, errors.Join(in.Err(), errors.New("a document is missing"))
		}
		if u, err := uri.Parse(doc.URL); err != nil || !u.IsAbs() {
			return nil, fmt.Errorf("%q is not a URL", doc.URL)
		}
		x.docs = append(x.docs, doc)
	}
	for in.Scan() {
		word, rest, _ := strings.Cut(in.Text(), " ")
		var ids []uint32
		id := uint64(0)
		for text := range strings.FieldsSeq(rest) {
			by, err := strconv.ParseUint(text, 36, 32)
			if id += by; err != nil || id >= uint64(len(x.docs)) ||
				by == 0 && len(ids) > 0 || x.postings == maxPostings {
				return nil, errors.New("a word is damaged")
			}
			ids = append(ids, uint32(id))
			x.postings++
		}
		if _, again := x.words[word]; again || len(ids) == 0 || len(word) > 2*maxWord ||
			len(x.words) == maxIndexWords {
			return nil, errors.New("a word is damaged")
		}
		x.words[strings.Clone(word)] = ids
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	return x, nil
}
