package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxFound    = 100 // documents that a search shows
	maxExcerpts = 20  // documents with an excerpt
	maxMarked   = 10  // different words in an excerpt
	excerptSize = 200 // bytes, more for many words
	minAround   = 40  // bytes before and after a word
)

// indexFile returns the name of the index, which is next to the first file of the archive.
func (s *Server) indexFile() string { return s.Archive.Files()[0] + ".words.gz" }

func (s *Server) archiveFiles() ([]indexedFile, error) {
	var list []indexedFile
	for _, name := range s.Archive.Files() {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		list = append(list, indexedFile{info.Name(), info.Size(), info.ModTime()})
	}
	return list, nil
}

// texts returns the index of the archive. It is built once, and kept next to the archive if that
// is possible. While it is built, progress is called about once a second.
func (s *Server) texts(ctx context.Context, progress func(done, total int)) (*textIndex, error) {
	select {
	case s.indexing <- struct{}{}:
		defer func() { <-s.indexing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.index != nil {
		return s.index, nil
	}
	files, err := s.archiveFiles()
	if err != nil {
		return nil, err
	}
	if f, err := os.Open(s.indexFile()); err == nil {
		s.index, err = readIndex(f, files)
		f.Close()
		if err == nil {
			return s.index, nil
		}
	}
	x, err := s.buildIndex(ctx, progress)
	if err != nil {
		return nil, err
	}
	x.files, s.index = files, x
	var text bytes.Buffer
	if x.write(&text) == nil {
		replaceFile(s.indexFile(), text.Bytes()) // without the file, the next run builds it again
	}
	return x, nil
}

// buildIndex reads all documents of the archive. It sends no requests.
func (s *Server) buildIndex(ctx context.Context, progress func(done, total int)) (*textIndex, error) {
	urls, more, err := s.Archive.URLs(func(string) bool { return true }, maxIndexed)
	if err != nil {
		return nil, err
	}
	x := &textIndex{words: make(map[string][]uint32), partial: more}
	last := time.Now()
	for i, text := range urls {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if time.Since(last) > time.Second {
			progress(i, len(urls))
			last = time.Now()
		}
		u, err := uri.Parse(text)
		if err != nil {
			continue
		}
		if title, text, ok := s.archivedText(ctx, u); ok {
			x.add(indexedDoc{u.String(), title}, text)
		}
	}
	return x, nil
}

// archivedText returns the title and the text of the latest capture of a document, from the archive
// only. It returns false for other types than text, for redirects and for failed captures.
func (s *Server) archivedText(ctx context.Context, u uri.URI) (title, text string, ok bool) {
	resp, err := s.Client.Do(context.WithValue(ctx, captureKey{}, capture{only: true}),
		&fetch.Request{URL: u})
	if err != nil {
		return "", "", false
	}
	defer resp.Body.Close()
	if len(resp.Via) > 0 {
		return "", "", false
	}
	title, text, ok, _ = ReadText(resp, maxIndexedText) // a part of a text is better than none
	if ok && title == "" && resp.Kind == fetch.KindListing {
		title = fetch.Printable(titleOf(u, s.Client.Traits(u)))
	}
	return title, text, ok
}

// ReadText reads a response as text for people, at most limit bytes: the names of a listing, a page
// without its markup, a decoded message, or other text, in UTF-8 and without control characters. If
// the content is not text, ok is false. The title is "" if the content states none. After an error,
// text is what was read before.
func ReadText(resp *fetch.Response, limit int64) (title, text string, ok bool, err error) {
	if resp.Kind == fetch.KindListing && resp.Entries != nil {
		var b strings.Builder
		for e, err := range resp.Entries {
			if err != nil {
				return "", b.String(), true, err
			}
			if b.WriteString(fetch.Printable(e.Name) + "\n"); int64(b.Len()) > limit {
				break
			}
		}
		return "", b.String(), true, nil
	}
	if resp.Kind != fetch.KindObject {
		return "", "", false, nil
	}
	kind, body, err := document(resp)
	if err != nil {
		return "", "", false, err
	}
	var in io.Reader = io.LimitReader(body, limit)
	switch family, _, _ := strings.Cut(kind, "/"); {
	case isHTML(kind):
		title = documentTitle(kind, resp.ContentType, body)
		text, err = links.Text(in, resp.ContentType)
		return title, readableLines([]byte(text)), true, err
	case isMessage(kind):
		title, in = documentTitle(kind, resp.ContentType, body), message.Text(in)
	case (family == "text" || textTypes[kind]) && kind != "text/css" && kind != "text/javascript":
		title, in = documentTitle(kind, resp.ContentType, body), decodeText(in, resp.ContentType)
	default:
		return "", "", false, nil
	}
	content, err := io.ReadAll(in)
	return title, readableLines(content), true, err
}

func readableLines(content []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(content) {
		b.WriteString(readable(line))
	}
	return b.String()
}

// A Found is a document that a search found in an archive. Its texts have no control characters.
type Found struct {
	URL      uri.URI
	Title    string    // of the document, or ""
	Captured time.Time // the latest capture
	// Excerpt has the words with the text around them. The first results have one.
	Excerpt string
}

// Search returns the documents of the archive whose latest captures have all words, at most limit, and
// their number. The index is built by the first search and kept next to the archive. While it is
// built, progress is called about once a second. Search sends no requests. If partial is true,
// the archive has more text than an index can hold.
func (s *Server) Search(ctx context.Context, words string, limit int, progress func(done, total int)) (
	found []Found, total int, partial bool, err error) {
	x, err := s.texts(ctx, progress)
	if err != nil {
		return nil, 0, false, err
	}
	docs := x.find(words)
	for i, doc := range docs[:min(len(docs), limit)] {
		u, err := uri.Parse(doc.URL)
		if err != nil {
			continue
		}
		f := Found{URL: u, Title: fetch.Printable(doc.Title)}
		if list := s.Archive.Captures(u, maxCounted); len(list) > 0 {
			f.Captured = list[len(list)-1].Time
		}
		if i < maxExcerpts {
			if _, text, ok := s.archivedText(ctx, u); ok {
				f.Excerpt = excerpt(text, words)
			}
		}
		found = append(found, f)
	}
	return found, len(docs), x.partial, nil
}

type foundRow struct {
	URL, Link, Time string
	Title, Excerpt  []markedText
}

func (s *Server) searchText(w http.ResponseWriter, r *http.Request) {
	if s.Archive == nil {
		http.NotFound(w, r)
		return
	}
	p := s.newPage(w, r, address{})
	words := r.URL.Query().Get("words")
	p.begin(http.StatusOK, "Search the archive")
	p.put("textsearch", fetch.Printable(words))
	defer p.end(nil)
	if strings.TrimSpace(words) == "" || isCrossSite(r) {
		return
	}
	found, total, partial, err := s.Search(r.Context(), words, maxFound, func(done, total int) {
		p.put("reading", fmt.Sprintf("Reading the archive: %d of %d", done, total))
		p.flush()
	})
	if err != nil {
		p.writeTrouble(err)
		return
	}
	var rows []foundRow
	for _, f := range found {
		row := foundRow{URL: fetch.Printable(f.URL.Redacted()), Link: s.link("/view", address{url: f.URL}),
			Title: markWords(f.Title, words), Excerpt: markWords(f.Excerpt, words)}
		if f.Title == "" {
			row.Title, row.URL = []markedText{{Text: row.URL}}, ""
		}
		if !f.Captured.IsZero() {
			row.Time = f.Captured.UTC().Format(minuteForm)
		}
		rows = append(rows, row)
	}
	p.put("found", struct {
		Words   string
		Rows    []foundRow
		Total   int
		Shown   int
		More    bool
		Partial bool
	}{fetch.Printable(words), rows, total, len(rows), total > len(rows), partial})
}

func excerpt(text, query string) string {
	text = strings.Join(strings.Fields(text), " ")
	wanted := make(map[string]bool)
	splitWords(query, func(word string, _, _ int) { wanted[word] = wanted[word] || len(wanted) < maxMarked })
	var places [][2]int
	splitWords(text, func(word string, from, to int) {
		if wanted[word] {
			places, wanted[word] = append(places, [2]int{from, to}), false
		}
	})
	var b strings.Builder
	end := 0
	for _, place := range places {
		around := max(excerptSize/2/len(places), minAround)
		first, last := max(place[0]-around, end), max(min(place[1]+around, len(text)), end)
		if first > end {
			b.WriteString(" … ")
		}
		b.WriteString(strings.ToValidUTF8(text[first:last], ""))
		end = last
	}
	if end > 0 && end < len(text) {
		b.WriteString(" …")
	}
	return fetch.Printable(strings.Join(strings.Fields(b.String()), " "))
}

type markedText struct {
	Text string
	Word bool // of the search
}

func markWords(text, query string) (list []markedText) {
	wanted := make(map[string]bool)
	splitWords(query, func(word string, _, _ int) { wanted[word] = true })
	end := 0
	splitWords(text, func(word string, from, to int) {
		if wanted[word] {
			list = append(list, markedText{Text: text[end:from]}, markedText{text[from:to], true})
			end = to
		}
	})
	return append(list, markedText{Text: text[end:]})
}
