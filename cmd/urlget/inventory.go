package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

type inventory struct {
	eventHead
	Kind     string         `json:"kind"`
	Records  int            `json:"records"`
	Types    map[string]int `json:"types"` // records by type
	Content  int64          `json:"bytes"` // of all blocks
	URLs     int            `json:"urls"`
	Schemes  map[string]int `json:"schemes"` // URLs by scheme
	First    time.Time      `json:"first,omitzero"`
	Last     time.Time      `json:"last,omitzero"`
	Software string         `json:"software,omitempty"`
	Damaged  int            `json:"damaged,omitempty"` // number of damaged sections
	more     bool           // there are more than maxCounted URLs
}

func fileURL(name string) (uri.URI, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return uri.URI{}, failure.File(err)
	}
	u, err := uri.File{Path: filepath.ToSlash(path)}.URI()
	return u, failure.File(err)
}

func describeArchive(p *program, name string) error {
	return readArchive(name, func(name string, r *warc.Reader) error {
		u, err := fileURL(name)
		if err != nil {
			return err
		}
		inv := &inventory{eventHead: newEventHead("described", u.String()), Kind: fetch.KindObject.String(),
			Types: make(map[string]int), Schemes: make(map[string]int)}
		if err := inv.countRecords(r); err != nil {
			return failure.File(err)
		}
		if inv.Records == 0 {
			return failure.File(fmt.Errorf("%s contains no records", name))
		}
		if p.opts.Report.JSON {
			return failure.File(json.NewEncoder(p.rep.std.out).Encode(inv))
		}
		return inv.text(p.rep.std.out, name)
	})
}

func (inv *inventory) countRecords(r *warc.Reader) error {
	seen := make(map[string]bool)
	defer func() { inv.URLs = len(seen) }()
	for rec, err := range r.Records() {
		switch _, isDamage := errors.AsType[*warc.DamageError](err); {
		case isDamage:
			inv.Damaged++
			continue
		case err != nil:
			return err
		}
		inv.Records++
		inv.Content += rec.Length
		tallyKind(inv.Types, rec.Type())
		if at := rec.Date(); !at.IsZero() {
			if inv.First.IsZero() || at.Before(inv.First) {
				inv.First = at
			}
			if at.After(inv.Last) {
				inv.Last = at
			}
		}
		if rec.Type() == warc.Info && inv.Software == "" {
			inv.Software = infoField(rec, "software")
		}
		u, err := uri.ParseRef(rec.TargetURI())
		switch {
		case err != nil || !u.IsAbs() || seen[rec.TargetURI()]:
		case len(seen) == maxCounted:
			inv.more = true
		default:
			seen[rec.TargetURI()] = true
			tallyKind(inv.Schemes, u.Scheme())
		}
	}
	return nil
}

// tallyKind increments the count of a kind. Kinds come from the archive, so beyond maxKinds they are
// counted as "other".
func tallyKind(of map[string]int, kind string) {
	if _, ok := of[kind]; !ok && len(of) >= maxKinds {
		kind = "others"
	}
	of[kind]++
}

func (inv *inventory) text(w io.Writer, name string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n  records: %d (%s)\n", fetch.Printable(name), inv.Records, counts(inv.Types))
	fmt.Fprintf(out, "  content: %s\n", sizeText(inv.Content))
	more := ""
	if inv.more {
		more = "more than "
	}
	fmt.Fprintf(out, "  URLs: %s%d (%s)\n", more, inv.URLs, counts(inv.Schemes))
	if !inv.First.IsZero() {
		fmt.Fprintf(out, "  from: %s\n  to: %s\n", inv.First.Format(time.RFC3339),
			inv.Last.Format(time.RFC3339))
	}
	if inv.Software != "" {
		fmt.Fprintf(out, "  software: %s\n", fetch.Printable(inv.Software))
	}
	if inv.Damaged > 0 {
		fmt.Fprintf(out, "  damaged sections: %d\n", inv.Damaged)
	}
	return failure.File(out.Flush())
}

const maxCounted = 1 << 20

const (
	maxKinds = 64 // counted separately
	maxNamed = 12 // listed by name
)

// counts returns the number of each kind, in descending order.
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of),
		func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) })
	var words []string
	for i, name := range names {
		if i == maxNamed {
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprintf("%d %s", of[name], fetch.Printable(name)))
	}
	return strings.Join(words, ", ")
}
