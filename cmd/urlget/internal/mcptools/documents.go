package mcptools

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
	"github.com/urlget/urlget/serve"
)

// A document is the content of a URL, kept so that all pieces of a text are of the same version.
type document struct {
	source
	title, text string
	notice      string
	content     []byte
	sum         string // SHA-256 of content, in hexadecimal
	isText      bool
}

// documentKey identifies a document: the URL as given, and whether its text is the source.
type documentKey struct {
	url      string
	asSource bool
}

// maxKept limits the content of the kept documents, in bytes.
const maxKept = 4 * MaxContent

type documents struct {
	mu   sync.Mutex
	list []keptDocument // latest last
	size int
}

type keptDocument struct {
	key documentKey
	*document
}

func (d *documents) get(key documentKey) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, kept := range d.list {
		if kept.key == key {
			return kept.document
		}
	}
	return nil
}

func (d *documents) put(key documentKey, doc *document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := d.list[:0:0]
	for _, old := range d.list {
		if old.key != key {
			kept = append(kept, old)
		}
	}
	d.list = append(kept, keptDocument{key, doc})
	d.size = 0
	for _, kept := range d.list {
		d.size += len(kept.content) + len(kept.text)
	}
	for d.size > maxKept && len(d.list) > 1 {
		d.size -= len(d.list[0].content) + len(d.list[0].text)
		d.list = d.list[1:]
	}
}

func (t *tools) document(ctx context.Context, in fetchInput) (*document, error) {
	key := documentKey{in.URL, in.Source}
	if in.Offset > 0 {
		if d := t.kept.get(key); d != nil {
			return d, nil
		}
	}
	_, resp, err := t.do(ctx, fetch.OpGet, in.URL)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	d := &document{source: sourceOf(resp)}
	if resp.Kind == fetch.KindListing && resp.Entries != nil && !in.Source {
		err = d.readListing(resp)
	} else {
		err = d.read(resp, in.Source)
	}
	if err != nil {
		return nil, err
	}
	if in.Offset > 0 {
		d.note("the content was retrieved again; earlier pieces may be of another version, " +
			"with another sha256")
	}
	sum := sha256.Sum256(d.content)
	d.sum = hex.EncodeToString(sum[:])
	t.kept.put(key, d)
	return d, nil
}

func (d *document) note(notice string) {
	if d.notice != "" {
		d.notice += "; "
	}
	d.notice += notice
}

func (d *document) readListing(resp *fetch.Response) error {
	var b bytes.Buffer
	count := 0
	entries := limited(resp.Entries, 0, maxEntries, &count)
	if err := render.Text(&b, entries, &render.TextOptions{Targets: true}); err != nil {
		return err
	}
	d.content, d.text, d.isText = b.Bytes(), b.String(), true
	d.note("a listing; the tool list returns its entries as JSON")
	if count > maxEntries {
		d.note(fmt.Sprintf("only the first %d entries, the tool list has the others with skip", maxEntries))
	}
	return nil
}

func (d *document) read(resp *fetch.Response, asSource bool) error {
	if err := decode(resp); err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, MaxContent+1))
	if err != nil {
		return err
	}
	if len(content) > MaxContent {
		return tooLong(resp, "the content")
	}
	d.content = content
	whole := *resp
	whole.Body = io.NopCloser(bytes.NewReader(content))
	title, text, ok, err := serve.ReadText(&whole, MaxContent)
	if err != nil {
		return err
	}
	d.title, d.text, d.isText = fetch.Printable(title), text, ok
	switch {
	case ok && asSource:
		d.text = string(bytes.ToValidUTF8(content, []byte("\uFFFD")))
	case ok:
		d.text = squeeze(text)
		if strings.Contains(d.text, links.HiddenBegin) {
			d.note("text between " + links.HiddenBegin + " and " + links.HiddenEnd +
				" is not visible to people who look at the page")
		}
	}
	if len(d.text) > MaxContent {
		return tooLong(resp, "the text")
	}
	return nil
}

func tooLong(resp *fetch.Response, what string) error {
	return &fetch.Error{Op: "read", URL: resp.URL.Redacted(), Code: fetch.ErrTooLarge,
		Err: fmt.Errorf("%s is longer than %d bytes", what, MaxContent)}
}

// decode removes a content coding that was not requested, so that the limits and the checksum are those
// of the content that the model gets.
func decode(resp *fetch.Response) error {
	coding := strings.ToLower(resp.Header.Get("Content-Encoding"))
	if resp.Decoded || resp.Kind != fetch.KindObject || coding != "gzip" && coding != "x-gzip" {
		return nil
	}
	z, err := gzip.NewReader(resp.Body)
	if err != nil {
		return undecodable(resp.URL, err)
	}
	resp.Body = &decoder{z, resp.Body, resp.URL}
	resp.Size, resp.Decoded = -1, true
	return nil
}

// A decoder is the body of a response without its content coding.
type decoder struct {
	*gzip.Reader
	coded io.Closer
	url   uri.URI
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = undecodable(d.url, err)
	}
	return n, err
}

func (d *decoder) Close() error { return d.coded.Close() }

// undecodable returns the error of a decoder, or the one of the transfer.
func undecodable(u uri.URI, err error) error {
	if fetch.CodeOf(err) != "" {
		return err
	}
	e := &fetch.Error{Op: "read", URL: u.Redacted(), Code: fetch.ErrProtocol, Err: err}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		e.Code = fetch.ErrTruncated
	case errors.Is(err, gzip.ErrChecksum):
		e.Code = fetch.ErrChecksum
	}
	return e
}

// squeeze removes the blanks at the ends of lines, and all but one of several empty lines.
func squeeze(text string) string {
	var b strings.Builder
	empty := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line == "" {
			empty++
			continue
		}
		if empty > 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		empty = 0
		b.WriteString(line + "\n")
	}
	return b.String()
}
