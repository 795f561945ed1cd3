// Package archive imports other archives, mirrors and mailboxes into WARC files, and extracts files
// from them.
package archive

import (
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
	"github.com/urlget/urlget/archive/internal/digest"
	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/mailbox"
)

const (
	// maxHead limits the length of a response head, which is kept for a revisit record.
	maxHead = 512 << 10
	// maxIDs limits the number of record IDs that are remembered to detect duplicates.
	maxIDs = 1 << 20
)

// A Kind is the kind of an import source.
type Kind string

const (
	WARC    Kind = "archive"
	Mailbox Kind = "mailbox"
	Mirror  Kind = "mirror"
	HAR     Kind = "HTTP Archive" // see Importer.HAR
	MHTML   Kind = "page in one file"
)

var errKind = errors.New("archive: not a WARC, ARC, WACZ, HAR or MHTML file, a mailbox (mbox, Maildir) " +
	"or a mirror with a state file (-m or -N)")

// KindOf returns the kind of a file or directory.
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
		return "", errKind
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	begin := make([]byte, 4<<10)
	n, _ := io.ReadFull(f, begin)
	start := bytes.TrimSpace(bytes.TrimPrefix(begin[:n], []byte("\ufeff")))
	head, _ := message.SplitHead(begin[:n])
	header := message.ParseHeader(head)
	switch {
	case bytes.HasPrefix(begin, []byte("From ")):
		return Mailbox, nil
	case bytes.HasPrefix(start, []byte("{")) && bytes.Contains(start, []byte(`"log"`)):
		return HAR, nil
	case strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "multipart/related") &&
		header.Get("Mime-Version") != "":
		return MHTML, nil
	}
	for _, magic := range []string{
		"WARC/", "filed", "PK\x03\x04", "\x1f\x8b", "\x28\xb5\x2f\xfd", "\x5d\x2a\x4d\x18", "BZh",
	} {
		if bytes.HasPrefix(begin[:n], []byte(magic)) {
			return WARC, nil
		}
	}
	return "", errKind
}

// A Report counts the records written.
type Report struct {
	Records  int64 // all records
	Revisits int64 // revisit records
	Known    int64 // records that were skipped because their ID already exists
}

// An Importer imports existing data into an archive. It is not safe for concurrent use.
type Importer struct {
	w       *warc.Writer
	seen    *capture.Seen
	capture *capture.Capture
	problem func(error)
	ids     map[string]bool
	report  Report
}

// New returns an Importer that writes to w. For payloads in seen, which may be nil, it writes
// revisit records. It calls problem for each item that it skips because of an error.
func New(w *warc.Writer, seen *capture.Seen, problem func(error)) *Importer {
	return &Importer{
		w: w, seen: seen, capture: capture.New(w, seen, nil), problem: problem, ids: make(map[string]bool),
	}
}

// Report returns the counts so far.
func (m *Importer) Report() Report { return m.report }

// AddKnown reads the archive to which records will be appended. Records with its IDs are then
// skipped, and its payloads become revisits. Damaged records are ignored.
func (m *Importer) AddKnown(ctx context.Context, file io.ReaderAt) error {
	r, err := warc.NewReader(file)
	if err != nil {
		return err
	}
	defer r.Close()
	for rec, err := range r.Records() {
		if stop := fetch.ContextError(ctx); stop != nil || len(m.ids) >= maxIDs {
			return stop
		}
		if _, isDamage := errors.AsType[*warc.DamageError](err); isDamage {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, rec.Checked()); err != nil {
			continue
		}
		if rec.ID() != "" {
			m.ids[rec.ID()] = true
		}
		m.seen.Add(&rec.Header)
	}
	return nil
}

// WARC copies the records of another WARC file, plain or compressed. A known payload becomes a
// revisit; everything else is kept. Problems refer to the file as name.
func (m *Importer) WARC(ctx context.Context, file io.ReaderAt, name string) error {
	r, err := warc.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	var last *copiedRecord // written after the reader has checked the end of the record
	defer func() { last.close() }()
	for n := 0; ; {
		if err := fetch.ContextError(ctx); err != nil {
			return err
		}
		rec, err := r.Next()
		damage, isDamage := errors.AsType[*warc.DamageError](err)
		if last != nil {
			reported := isDamage && damage.Offset == last.offset
			switch {
			case last.changed && !reported:
				m.problem(fmt.Errorf("%s: %w", name, &warc.DamageError{Offset: last.offset, Err: errChanged}))
			case !last.changed && (!reported || last.checked): // the block is complete
				if err := m.write(last); err != nil {
					return err
				}
			}
		}
		last.close()
		last = nil
		switch {
		case err == io.EOF && n == 0:
			return fmt.Errorf("%s: no WARC records", name)
		case err == io.EOF:
			return nil
		case isDamage:
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
		last, err = m.copy(rec)
		if _, isDamage := errors.AsType[*warc.DamageError](err); err != nil && !isDamage {
			return err // the reader reports damage next
		}
	}
}

type copiedRecord struct {
	*warc.Draft
	id     string
	offset int64
	digest string // of the payload; "" if it cannot become a revisit
	// checked means that the block matches the digest in the header, changed that it does not.
	checked, changed bool
}

func (c *copiedRecord) close() {
	if c != nil {
		c.Block.Close()
	}
}

var errChanged = errors.New("block does not match WARC-Block-Digest")

func (m *Importer) copy(rec *warc.Record) (*copiedRecord, error) {
	draft := &warc.Draft{Block: m.w.NewSpool(), Copied: true}
	d := &copiedRecord{Draft: draft, id: rec.ID(), offset: rec.Offset}
	for _, f := range rec.Header {
		switch strings.ToLower(f.Name) {
		case "content-length":
			continue
		case "warc-date":
			if at := rec.Date(); !at.IsZero() { // in the form that revisits will use
				d.Header.AddTime(f.Name, at)
				continue
			}
		case "warc-target-uri":
			f.Value = rec.TargetURI()
		}
		d.Header.Add(f.Name, f.Value)
	}
	want, known := digest.Parse(d.Header.Get("WARC-Block-Digest"))
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
		d.digest = digest.SHA256(sum)
		if d.Header.Get("WARC-Payload-Digest") == "" {
			d.Header.Add("WARC-Payload-Digest", d.digest)
		}
	}
	return d, nil
}

func (m *Importer) write(d *copiedRecord) error {
	if d.id != "" && len(m.ids) < maxIDs {
		m.ids[d.id] = true
	}
	if d.digest != "" && m.seen.Revisit(&d.Header, d.digest) {
		m.report.Revisits++
		if err := shorten(d.Draft, m.w.NewSpool()); err != nil {
			return err
		}
	}
	m.report.Records++
	return m.w.Write(d.Draft)
}

// payload copies the block of a record to block. If the record has a payload that may become a
// revisit, it hashes the payload into sum and returns its length, otherwise -1.
func (m *Importer) payload(rec *warc.Record, block *warc.Spool, sum io.Writer) (int64, error) {
	whole := rec.Incomplete() == ""
	switch {
	case rec.Type() == warc.Resource && whole:
		return io.Copy(io.MultiWriter(block, sum), rec.Block)
	case rec.Type() != warc.Response || !whole || !rec.IsHTTP():
		_, err := io.Copy(block, rec.Block)
		return -1, err
	}
	if _, err := io.Copy(block, rec.Block); err != nil {
		return -1, err
	}
	resp, err := httprecord.Read(block.Reader(0), block.Len(), maxHead)
	if err != nil || resp.StatusCode != http.StatusOK {
		return -1, nil
	}
	defer resp.Body.Close()
	n, err := io.Copy(sum, resp.Body)
	if err != nil {
		return -1, nil // the body is incomplete
	}
	return n, nil
}

// shorten replaces the block of a revisit by the head of the HTTP response, or by nothing.
func shorten(d *warc.Draft, short *warc.Spool) error {
	if d.Header.IsHTTP() {
		head := func() io.Reader { return httprecord.Final(io.LimitReader(d.Block.Reader(0), maxHead)) }
		if _, err := io.CopyN(short, head(), httprecord.HeadLength(head())); err != nil {
			return err
		}
	}
	d.Block.Close()
	d.Block = short
	fields := d.Header[:0]
	for _, f := range d.Header {
		if !strings.EqualFold(f.Name, "WARC-Block-Digest") {
			fields = append(fields, f)
		}
	}
	d.Header = fields
	return nil
}

// Mailbox imports the messages of an mbox file or a Maildir as resources: with a news URL if the
// header names newsgroups, otherwise with a mid URL. A message without a Message-ID is reported as
// a problem.
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
		m.problem(fmt.Errorf("%s: message at byte %d has no usable Message-ID", found.Path, found.Offset))
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
	meta := &fetch.Meta{ContentType: "message/rfc822", Size: found.Size, Header: header}
	return m.add(u, info.ModTime(), meta, content)
}

func messageURL(id string, news bool) (uri.URI, error) {
	if id == "" || strings.ContainsAny(id, " \t<>") {
		return uri.URI{}, errors.New("no identifier")
	}
	if news {
		return uri.News{MessageID: id}.URI()
	}
	return uri.MID{MessageID: id}.URI()
}

// Mirror imports the unchanged files of a mirror. A mirror stores only the content type and the
// validators of the server's metadata. A file that was changed later, such as a page with converted
// links, is reported as a problem.
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
			m.problem(fmt.Errorf("%s: changed since it was saved, skipped", f.Path))
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

// add adds a resource as two records.
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
