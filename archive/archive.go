// Package archive makes archives of what is there already: other archives, mirrors and mailboxes.
package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/mailbox"
)

const (
	// maxHead bounds the head of an answer, which is kept of a payload that is known already.
	maxHead = 512 << 10
	// maxIDs bounds the identifiers that are remembered, so that no record is written twice.
	maxIDs = 1 << 20
)

// A Kind says what something is that is to be put into an archive.
type Kind string

// The kinds.
const (
	WARC    Kind = "archive"
	Mailbox Kind = "mailbox"
	Mirror  Kind = "mirror"
)

// ErrKind is the error for what is of no kind.
var ErrKind = errors.New("archive: neither an archive, a mailbox (mbox, Maildir) nor a mirror that remembers what it saved (-m or -N)")

// KindOf looks at a file or directory.
func KindOf(path string) (Kind, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		for name, kind := range map[string]Kind{".urlget": Mirror, "cur": Mailbox, "new": Mailbox} {
			if info, err := os.Stat(filepath.Join(path, name)); err == nil && info.IsDir() {
				return kind, nil
			}
		}
		return "", ErrKind
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	begin := make([]byte, 5)
	n, _ := io.ReadFull(f, begin)
	switch text := string(begin[:n]); {
	case text == "From ":
		return Mailbox, nil
	case text == "WARC/", strings.HasPrefix(text, "PK\x03\x04"), strings.HasPrefix(text, "\x1f\x8b"), strings.HasPrefix(text, "\x28\xb5\x2f\xfd"), strings.HasPrefix(text, "\x5d\x2a\x4d\x18"):
		return WARC, nil
	}
	return "", ErrKind
}

// A Report says what was written.
type Report struct {
	Records  int64 // all of them
	Revisits int64 // those of payloads that were known already
	Known    int64 // records that were left out, as one with their identifier was there
}

// An Importer writes what is there already to an archive. It is for one goroutine.
type Importer struct {
	w       *warc.Writer
	seen    *capture.Seen
	capture *capture.Capture
	problem func(error)
	ids     map[string]bool
	report  Report
}

// New returns an Importer. Payloads that are in seen, which may be nil, are not written again.
// Problem is told of what is left out because it cannot be read.
func New(w *warc.Writer, seen *capture.Seen, problem func(error)) *Importer {
	return &Importer{w: w, seen: seen, capture: capture.New(w, seen, nil), problem: problem, ids: make(map[string]bool)}
}

// Report returns what was written up to now.
func (m *Importer) Report() Report { return m.report }

// Known notes what is in an archive to which is added: records with its identifiers are left out, and
// its payloads are not written again. What is damaged in it is not known.
func (m *Importer) Known(ctx context.Context, file io.ReaderAt) error {
	r, err := warc.NewReader(file)
	if err != nil {
		return err
	}
	defer r.Close()
	for len(m.ids) < maxIDs {
		if err := fetch.ContextError(ctx); err != nil {
			return err
		}
		rec, err := r.Next()
		var damage *warc.DamageError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &damage):
		case err != nil:
			return err
		default:
			if _, err := io.Copy(io.Discard, rec.Checked()); err != nil {
				continue
			}
			if rec.ID() != "" {
				m.ids[rec.ID()] = true
			}
			m.seen.Add(&rec.Header)
		}
	}
	return nil
}

// WARC copies the records of another archive, in whatever form it is. What they say stays, but a
// payload that is known already becomes a revisit. Name is what problems call the file.
func (m *Importer) WARC(ctx context.Context, file io.ReaderAt, name string) error {
	r, err := warc.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	var last *copied // is written once the reader has looked at what stands behind it
	defer func() { last.close() }()
	for n := 0; ; {
		if err := fetch.ContextError(ctx); err != nil {
			return err
		}
		rec, err := r.Next()
		var damage *warc.DamageError
		errors.As(err, &damage)
		if last != nil {
			told := damage != nil && damage.Offset == last.offset
			switch {
			case last.changed && !told:
				m.problem(fmt.Errorf("%s: %w", name, &warc.DamageError{Offset: last.offset, Err: errChanged}))
			case !last.changed && (!told || last.isWhole(damage)):
				if err := m.put(last); err != nil {
					return err
				}
			}
		}
		last.close()
		last = nil
		switch {
		case err == io.EOF && n == 0:
			return fmt.Errorf("%s holds no record", name)
		case err == io.EOF:
			return nil
		case damage != nil:
			m.problem(fmt.Errorf("%s: %w", name, err))
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		n++
		if id := rec.ID(); id != "" {
			if m.ids[id] {
				m.report.Known++
				continue
			}
		}
		if last, err = m.copy(rec); errors.As(err, &damage) {
			continue // which the reader tells next
		} else if err != nil {
			return err
		}
	}
}

// A copied record is to be written.
type copied struct {
	*warc.Draft
	id     string
	offset int64
	digest string // of the payload; "" if there is none that may be a revisit of another
	// checked says that the block has the digest in the header, changed that it has not.
	checked, changed bool
}

func (c *copied) close() {
	if c != nil {
		c.Block.Close()
	}
}

// errChanged is what is wrong with a record whose bytes are not those that were written.
var errChanged = errors.New("its block has not the digest that its header gives")

// isWhole reports whether a record is, behind which there is damage, as far as can be known.
func (c *copied) isWhole(damage error) bool {
	return c.checked || errors.Is(damage, io.ErrUnexpectedEOF) // all of its block is there
}

// copy reads a record.
func (m *Importer) copy(rec *warc.Record) (*copied, error) {
	d := &copied{Draft: &warc.Draft{Block: warc.NewSpool(m.w.Dir()), Copied: true}, id: rec.ID(), offset: rec.Offset}
	for _, f := range rec.Header {
		switch strings.ToLower(f.Name) {
		case "content-length":
			continue
		case "warc-date":
			if at := rec.Date(); !at.IsZero() { // in the form in which revisits will refer to it
				f.Value = warc.FormatDate(at)
			}
		case "warc-target-uri":
			f.Value = rec.TargetURI()
		}
		d.Header.Add(f.Name, f.Value)
	}
	want, known := warc.ParseDigest(d.Header.Get("WARC-Block-Digest"))
	block := want.Hash()
	if known {
		rec.Block = io.TeeReader(rec.Block, block)
	}
	sum := sha256.New()
	payload, err := m.payload(rec, d.Block, sum)
	if err != nil {
		d.close()
		return nil, err
	}
	if known {
		d.checked = bytes.Equal(block.Sum(nil), want.Sum)
		d.changed = !d.checked
	}
	if payload > 0 {
		d.digest = fmt.Sprintf("sha256:%x", sum.Sum(nil))
		if d.Header.Get("WARC-Payload-Digest") == "" {
			d.Header.Add("WARC-Payload-Digest", d.digest)
		}
	}
	return d, nil
}

// put writes a record.
func (m *Importer) put(d *copied) error {
	if d.id != "" && len(m.ids) < maxIDs {
		m.ids[d.id] = true
	}
	if d.digest != "" && m.seen.Revisit(&d.Header, d.digest) {
		m.report.Revisits++
		if err := shorten(d.Draft, m.w.Dir()); err != nil {
			return err
		}
	}
	m.report.Records++
	return m.w.Write(d.Draft)
}

// payload copies the block of a record, and hashes the payload if there is one that may be a
// revisit of another. It returns its length, else -1.
func (m *Importer) payload(rec *warc.Record, block *warc.Spool, sum io.Writer) (int64, error) {
	whole := rec.Get("WARC-Truncated") == "" && rec.Get("WARC-Segment-Number") == ""
	switch {
	case rec.Type() == warc.Resource && whole:
		return io.Copy(io.MultiWriter(block, sum), rec.Block)
	case rec.Type() != warc.Response || !whole || !strings.HasPrefix(strings.ToLower(rec.ContentType()), "application/http"):
		_, err := io.Copy(block, rec.Block)
		return -1, err
	}
	if _, err := io.Copy(block, rec.Block); err != nil {
		return -1, err
	}
	resp, err := warc.ReadAnswer(block.Reader(0), maxHead)
	if err != nil || resp.StatusCode != http.StatusOK {
		return -1, nil
	}
	defer resp.Body.Close()
	n, err := io.Copy(sum, resp.Body)
	if err != nil {
		return -1, nil // it is not whole, whatever the record says
	}
	return n, nil
}

// shorten makes the block of a revisit: the head of the answer, or nothing.
func shorten(d *warc.Draft, dir string) error {
	short := warc.NewSpool(dir)
	if strings.HasPrefix(strings.ToLower(d.Header.ContentType()), "application/http") {
		lines := bufio.NewReader(warc.Answer(io.LimitReader(d.Block.Reader(0), maxHead)))
		for {
			line, err := lines.ReadString('\n')
			if err != nil && err != io.EOF {
				return err
			}
			if io.WriteString(short, line); err == io.EOF || line == "\n" || line == "\r\n" {
				break
			}
		}
	}
	d.Block.Close()
	d.Block = short
	kept := d.Header[:0]
	for _, f := range d.Header {
		if !strings.EqualFold(f.Name, "WARC-Block-Digest") {
			kept = append(kept, f)
		}
	}
	d.Header = kept
	return nil
}

// Mailbox adds the messages of an mbox file or a Maildir, as answers to requests for them: news for
// articles, whose headers name newsgroups, and mid for mail. Messages without an identifier are
// told as problems.
func (m *Importer) Mailbox(ctx context.Context, path string) error {
	boxes := &mailbox.Boxes{Paths: []string{path}}
	for found, err := range boxes.All(ctx) {
		if err != nil {
			return err
		}
		if err := m.message(found); err != nil {
			return err
		}
	}
	return nil
}

func (m *Importer) message(found *mailbox.Message) error {
	header := message.ParseHeader(found.Head)
	id := strings.Trim(header.Get("Message-Id"), " <>")
	u, err := messageURL(id, header.Get("Newsgroups") != "")
	if err != nil {
		m.problem(fmt.Errorf("%s: the message at byte %d has no identifier that can be asked for", found.Path, found.Offset))
		return nil
	}
	info, err := os.Stat(found.Path)
	if err != nil {
		return err
	}
	content, err := found.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	return m.add(u, info.ModTime(), &fetch.Meta{ContentType: "message/rfc822", Size: found.Size, Header: header}, content)
}

// messageURL returns the URL of a message.
func messageURL(id string, news bool) (uri.URI, error) {
	if id == "" || strings.ContainsAny(id, " \t<>") {
		return uri.URI{}, errors.New("no identifier")
	}
	if news {
		return uri.News{MessageID: id}.URI()
	}
	return uri.MID{MessageID: id}.URI()
}

// Mirror adds the files of a mirror that are as they were saved. What their servers said of them is
// not known but for the media type and the validators. Files that were changed since, such as pages
// whose links were converted, are told as problems.
func (m *Importer) Mirror(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for f, err := range mirror.Files(dir) {
		if err == nil {
			err = fetch.ContextError(ctx)
		}
		if err != nil {
			return err
		}
		if f.Changed {
			m.problem(fmt.Errorf("%s is not as it was saved, and left out", f.Path))
			continue
		}
		if err := m.file(root, f); err != nil {
			return err
		}
	}
	return nil
}

func (m *Importer) file(root *os.Root, f mirror.File) error {
	content, err := root.Open(f.Path)
	if err != nil {
		return err
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return err
	}
	meta := &fetch.Meta{ContentType: f.ContentType, Size: info.Size(), Validator: f.Validator}
	return m.add(f.URL, f.Mirrored, meta, content)
}

// add adds a resource, of which there are two records.
func (m *Importer) add(u uri.URI, at time.Time, meta *fetch.Meta, content io.Reader) error {
	revisit, err := m.capture.Add(u, at, meta, content)
	if err != nil {
		return err
	}
	if m.report.Records += 2; revisit {
		m.report.Revisits++
	}
	return nil
}
