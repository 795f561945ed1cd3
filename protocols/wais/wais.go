// Package wais is the driver for wais URLs (RFC 1738, section 3.9). It searches databases and retrieves
// documents over WAIS (RFC 1625).
//
//	wais://host/                  a listing of the databases of a server
//	wais://host/database          the description of a database, its WSRC record
//	wais://host/database?words    a listing of the matching documents, best first
//	wais://host/database/TYPE/ID  a document
package wais

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/apdu"
)

const port = 210

// Options configures the driver. The zero value is the default.
type Options struct {
	MaxHits int // maximum number of results of a search; 0 means 100
}

// Load registers the driver with the default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a loader that registers the driver with opts.
func With(opts Options) fetch.Loader {
	if opts.MaxHits <= 0 {
		opts.MaxHits = 100
	}
	return func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{
			Name: "wais", Port: port, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Ranges: true, ForwardProxy: true,
			Summary: "Wide Area Information Servers: full-text databases, and the documents in them",
			Driver:  &opener{env: env, maxHits: opts.MaxHits},
		})
	}
}

type opener struct {
	env     fetch.Env
	maxHits int
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	w, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	isIndex := w.HasSearch || w.Database == ""
	switch {
	case req.Op == fetch.OpList && !isIndex:
		return nil, fmt.Errorf("a WAIS database can only be listed by a search: %w", errors.ErrUnsupported)
	case req.Op == fetch.OpStat && isIndex:
		return nil, fmt.Errorf("a WAIS search has no metadata: %w", errors.ErrUnsupported)
	}
	doc, err := documentOf(w, req)
	if err != nil {
		return nil, err
	}
	s, err := d.dial(ctx, w)
	if err != nil {
		return nil, err
	}
	var resp *fetch.Response
	switch {
	case w.IsDocument():
		resp, err = s.document(req, doc)
	case isIndex:
		resp, err = s.index(w, d.maxHits)
	default:
		resp, err = s.describe(req, w)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return resp, nil
}

func parse(u uri.URI) (uri.WAIS, error) {
	w, err := uri.ParseWAIS(u)
	switch {
	case err != nil:
		return w, err
	case w.Host == "":
		return w, fetch.ErrURL.Errorf("the URL has no host")
	case w.IsDocument() && w.Database == "":
		return w, fetch.ErrURL.Errorf("the URL has a document but no database")
	case w.IsDocument() && len(apdu.IDFromURL(w)) == 0:
		return w, fetch.ErrURL.Errorf("the document identifier is empty")
	}
	return w, nil
}

// describe retrieves the WSRC record of a database, which an empty search returns.
func (s *session) describe(req *fetch.Request, w uri.WAIS) (*fetch.Response, error) {
	found, err := s.search(apdu.Search{Database: w.Database, MaxHits: 10})
	if err != nil {
		return nil, err
	}
	for _, h := range found.Hits {
		if hasType(h, typeSource) {
			resp, err := s.document(req,
				document{database: w.Database, id: h.ID, docType: typeSource, size: -1})
			if err == nil {
				resp.Name = sourceName(w)
			}
			return resp, err
		}
	}
	return nil, notFound(found, "no description of database "+strconv.Quote(w.Database))
}

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	w, err := parse(req.URL)
	if err != nil {
		return fetch.Meta{}, false
	}
	switch {
	case w.HasSearch || w.Database == "":
		return fetch.Meta{Kind: fetch.KindListing, ContentType: "text/uri-list"}, true
	case !w.IsDocument():
		return fetch.Meta{Name: sourceName(w)}, true
	}
	doc, err := documentOf(w, req)
	return fetch.Meta{Name: doc.name(), ContentType: mediaType(doc.docType)}, err == nil
}

func sourceName(w uri.WAIS) string { return fetch.SafeName(w.Database + ".src") }

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	w, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	steps := []string{"INIT search, record size " + strconv.Itoa(maxRecord) + " bytes"}
	switch {
	case w.IsDocument():
		doc, err := documentOf(w, req)
		if err != nil {
			return nil, err
		}
		return append(steps, describeSearch(doc.chunk(req.Range.Offset, chunkSize)),
			"repeat with the next bytes until the end"), nil
	case w.Database == "":
		return append(steps, describeSearch(apdu.Search{Words: directoryWords(w)})), nil
	case w.HasSearch:
		return append(steps, describeSearch(apdu.Search{Database: w.Database, Words: w.Search})), nil
	}
	return append(steps, describeSearch(apdu.Search{Database: w.Database}),
		"SEARCH type 1 for the WSRC document found"), nil
}

func describeSearch(m apdu.Search) string {
	database := "the directory of databases"
	if m.Database != "" {
		database = "database " + strconv.Quote(m.Database)
	}
	if m.Document == nil {
		return fmt.Sprintf("SEARCH type 3 in %s for %q", database, m.Words)
	}
	return fmt.Sprintf("SEARCH type 1 in %s for document %q as %s, bytes %d to %d",
		database, m.Document, strings.ToValidUTF8(m.Type, "?"), m.From, m.To)
}

func describeResponse(found apdu.Response) string {
	var parts []string
	if found.HasText {
		parts = append(parts, fmt.Sprintf("%d bytes of a document", len(found.Text)))
	} else {
		parts = append(parts, fmt.Sprintf("%d documents", len(found.Hits)))
	}
	for _, d := range found.Diagnostics {
		parts = append(parts, "diagnostic "+d.String())
	}
	return strings.Join(parts, ", ")
}
