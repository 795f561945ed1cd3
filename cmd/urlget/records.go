package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/wacz"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// orArchives returns the body of a command whose first arguments may be archives. Without URLs, it
// runs alone on each archive. With URLs, it runs the command and replays only the archives.
func orArchives(alone func(p *program, name string) error, each runFunc) runFunc {
	return func(p *program, cmd *cobra.Command, args []string) error {
		n := 0
		for n < len(args) && isArchive(args[n]) {
			n++
		}
		switch {
		case n == 0:
			return each(p, cmd, args)
		case n < len(args):
			p.opts.Archive.Replay = append(p.opts.Archive.Replay, args[:n]...)
			p.opts.Archive.ReplayOnly = true
			return each(p, cmd, args[n:])
		case alone == nil:
			return failure.Hinted("no URL in the archive "+args[0],
				"use "+cmd.CommandPath()+" "+args[0]+" URL, or urlget ls "+args[0]+" to list the URLs")
		}
		p.rep.openEvents()
		for _, name := range args {
			if err := alone(p, name); err != nil {
				subject := ""
				if u, wrong := fileURL(name); wrong == nil && p.rep.events != nil {
					subject = u.String()
				}
				p.rep.fail(subject, err)
			}
		}
		return nil
	}
}

// isArchive reports whether an argument is a file with the suffix of an archive.
func isArchive(name string) bool {
	if strings.Contains(name, "://") {
		return false
	}
	info, err := os.Stat(name)
	return hasArchiveSuffix(name) && err == nil && info.Mode().IsRegular()
}

func hasArchiveSuffix(name string) bool {
	base := name
	for _, suffix := range []string{".gz", ".zst", ".bz2"} {
		base = strings.TrimSuffix(base, suffix)
	}
	return strings.HasSuffix(base, ".warc") || strings.HasSuffix(base, ".arc") || isPacked(name)
}

// isPacked reports whether a file name has the suffix of a WACZ file, which contains archives.
func isPacked(name string) bool { return strings.HasSuffix(name, ".wacz") }

// eachWARC calls f with an archive and its name, or with each archive in a WACZ file.
func eachWARC(name string, f func(name string, file io.ReaderAt) error) error {
	file, err := replay.OpenFile(name)
	if err != nil {
		return failure.File(err)
	}
	defer file.Close()
	return eachIn(file, isPacked(name), f)
}

// eachIn is eachWARC for an open file.
func eachIn(file replay.File, packed bool, f func(name string, file io.ReaderAt) error) error {
	if !packed {
		return f(file.Name(), file)
	}
	all, err := newPacked(file)
	if err != nil {
		return err
	}
	for inner := range all.All() {
		if err := f(file.Name()+"/"+inner.Name, inner); err != nil {
			return err
		}
	}
	return nil
}

func newPacked(file replay.File) (*wacz.Reader, error) {
	packed, err := wacz.NewReader(file, file.Size())
	if err != nil {
		return nil, failure.File(fmt.Errorf("%s: %w", file.Name(), err))
	}
	return packed, nil
}

// readArchive is eachWARC with readers.
func readArchive(name string, f func(name string, r *warc.Reader) error) error {
	return eachWARC(name, reading(f))
}
func reading(f func(name string, r *warc.Reader) error) func(name string, file io.ReaderAt) error {
	return func(name string, file io.ReaderAt) error {
		r, err := warc.NewReader(file)
		if err != nil {
			return failure.File(fmt.Errorf("%s: %w", name, err))
		}
		defer r.Close()
		return f(name, r)
	}
}

func listArchive(p *program, name string) error {
	return readArchive(name, func(name string, r *warc.Reader) error {
		u, err := fileURL(name)
		if err != nil {
			return err
		}
		return p.rep.printEntries(u, recordsOf(r, p.opts.Listing.Long))
	})
}

type warcRecord struct {
	Type      string
	ID        string
	Offset    int64
	Status    int    // of HTTP
	Outcome   string // error class of an incomplete exchange
	Op        string // of an exchange
	IP        string
	Digest    string
	Truncated string
	Refers    string // of a revisit
	Protocol  []string
}

func (r warcRecord) EntryFacts() fetch.Facts {
	return fetch.Facts{Driver: "warc", List: []fetch.Fact{
		{Name: "type", Value: r.Type},
		{Name: "id", Value: r.ID, Optional: true},
		{Name: "offset", Value: r.Offset},
		{Name: "status", Value: int64(r.Status), Optional: true},
		{Name: "outcome", Value: r.Outcome, Optional: true},
		{Name: "op", Value: r.Op, Optional: true},
		{Name: "ip", Value: r.IP, Optional: true},
		{Name: "digest", Value: r.Digest, Optional: true},
		{Name: "truncated", Value: r.Truncated, Optional: true},
		{Name: "refers", Value: r.Refers, Optional: true},
		{Name: "protocol", Value: r.Protocol, Optional: true},
	}}
}

// recordsOf yields the records as entries. If more is set, their names include the position and the
// record they refer to.
func recordsOf(r *warc.Reader, more bool) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for rec, err := range r.Records() {
			var e fetch.Entry
			switch _, isDamage := errors.AsType[*warc.DamageError](err); {
			case isDamage:
				e = fetch.Entry{Name: err.Error(), Kind: fetch.EntryError, Size: -1}
			case err != nil:
				yield(e, err)
				return
			default:
				e = entryOf(rec, more)
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func entryOf(rec *warc.Record, more bool) fetch.Entry {
	kind := rec.Type()
	about := warcRecord{Type: kind, ID: rec.ID(), Offset: rec.Offset, IP: rec.Get("WARC-IP-Address"),
		Digest:    cmp.Or(rec.Get("WARC-Payload-Digest"), rec.Get("WARC-Block-Digest")),
		Truncated: rec.Get("WARC-Truncated"), Protocol: rec.Values("WARC-Protocol"),
		Refers: cmp.Or(rec.Refers("WARC-Refers-To-Target-URI"), rec.Refers("WARC-Refers-To"))}
	e := fetch.Entry{Rel: kind, ContentType: rec.ContentType(), Size: rec.Length, ModTime: rec.Date()}
	words := []string{kind}
	switch {
	case (kind == warc.Response || kind == warc.Revisit) &&
		strings.HasPrefix(strings.ToLower(rec.ContentType()), "application/http"):
		if resp, err := rec.HTTPResponse(maxShownHead); err == nil {
			about.Status = resp.StatusCode
			words = append(words, strconv.Itoa(resp.StatusCode))
		}
	case kind == warc.Metadata:
		if op, failed, ok := capture.Outcome(rec); ok {
			about.Op, about.Outcome = op.String(), string(failed)
			words = append(words, about.Op)
			if failed != "" {
				words = append(words, about.Outcome)
			}
		}
	}
	e.Name = strings.Join(append(words, rec.TargetURI()), " ")
	if more {
		e.Name = fmt.Sprintf("%d %s", rec.Offset, e.Name)
		for _, detail := range []struct{ name, value string }{{"refers to", about.Refers},
			{"truncated:", about.Truncated}, {"from", about.IP}} {
			if detail.value != "" {
				e.Name += ", " + detail.name + " " + detail.value
			}
		}
	}
	if u, err := uri.ParseRef(rec.TargetURI()); err == nil && u.IsAbs() {
		e.URL = u
	}
	e.Sys = about
	return e
}

// maxShownHead limits the response head that is read for its status, in bytes.
const maxShownHead = 256 << 10

func infoField(rec *warc.Record, name string) string {
	lines := bufio.NewScanner(io.LimitReader(rec.Block, maxShownHead))
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.EqualFold(key, name) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
