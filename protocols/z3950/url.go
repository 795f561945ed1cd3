package z3950

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

type target struct {
	url       uri.URI
	retrieval bool // z39.50r
	databases []string
	query     string // decoded: a docid or search terms
	words     string // query with "+" decoded as a space
	hasQuery  bool
	elements  string   // the element set; "" for the client's choice
	syntaxes  []string // object identifiers; empty for the client's choice
	item      int64    // position of a record in the result, from 1; 0 for none

	path, search string // the encoded parts before the parameters
}

const (
	// maxURL limits the parts of a URL that are sent to the server, in bytes.
	maxURL = 16 << 10
	// maxItem is the largest position of a record.
	maxItem = 1<<31 - 1
)

// parse parses a URL (RFC 2056, section 5). The parameter item is an extension in the form that
// section 5 reserves for extensions.
//
//	z39.50r://HOST[:PORT]/DATABASE[+DATABASE]?DOCID[;esn=ELEMENTSET][;rs=SYNTAX[+SYNTAX]]
//	z39.50s://HOST[:PORT][/[DATABASE[+DATABASE][?QUERY]][;esn=...][;rs=...][;item=NUMBER]]
func parse(u uri.URI) (*target, error) {
	t := &target{url: u, retrieval: u.Scheme() == "z39.50r"}
	if u.Host() == "" {
		return nil, fetch.ErrURL.Errorf("the URL has no host")
	}
	var params string
	query, hasQuery := u.Query()
	t.path, params, _ = strings.Cut(u.Path(), ";")
	t.hasQuery = hasQuery
	if hasQuery {
		if params != "" {
			return nil, fetch.ErrURL.Errorf("parameters must be at the end of the URL")
		}
		t.search, params, _ = strings.Cut(query, ";")
	}
	if len(t.path)+len(t.search)+len(params) > maxURL {
		return nil, fetch.ErrURL.Errorf("the URL is longer than %d bytes", maxURL)
	}
	var err error
	if path := strings.TrimSuffix(strings.TrimPrefix(t.path, "/"), "/"); path != "" {
		if t.databases, err = unescapeAll(path); err != nil {
			return nil, err
		}
	}
	if t.query, err = uri.Unescape(t.search); err != nil {
		return nil, err
	}
	t.words, _ = uri.Unescape(strings.ReplaceAll(t.search, "+", " "))
	if err := t.params(params); err != nil {
		return nil, err
	}
	switch {
	case t.hasQuery && t.databases == nil:
		return nil, fetch.ErrURL.Errorf("the URL has no database")
	case t.retrieval && t.query == "":
		return nil, fetch.ErrURL.Errorf("the URL has no document: add a question mark and a docid")
	case t.retrieval && t.item != 0, t.item != 0 && t.query == "":
		return nil, fetch.ErrURL.Errorf("the parameter item requires a z39.50s search")
	}
	return t, nil
}

func unescapeAll(s string) (parts []string, err error) {
	for part := range strings.SplitSeq(s, "+") {
		text, err := uri.Unescape(part)
		if err == nil && text == "" {
			err = fetch.ErrURL.Errorf("empty text next to a plus sign")
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	return parts, nil
}

func (t *target) params(s string) error {
	if s == "" {
		return nil
	}
	for param := range strings.SplitSeq(s, ";") {
		name, raw, _ := strings.Cut(param, "=")
		values, err := unescapeAll(raw)
		if err != nil {
			return err
		}
		switch strings.ToLower(name) {
		case "esn":
			if t.elements, err = uri.Unescape(raw); err != nil {
				return err
			}
		case "rs":
			for _, v := range values {
				if oid := syntaxOf(v); oid != "" {
					t.syntaxes = append(t.syntaxes, oid)
				}
			}
			if t.syntaxes == nil {
				return &fetch.Error{Code: fetch.ErrURL, Err: fmt.Errorf("unknown record syntax %q", raw),
					Hint: "use " + syntaxNames() + ", or an object identifier"}
			}
		case "item":
			t.item, err = strconv.ParseInt(raw, 10, 64)
			if err != nil || t.item < 1 || t.item > maxItem {
				return fetch.ErrURL.Errorf("invalid record position %q", raw)
			}
		default:
			return fetch.ErrURL.Errorf("unknown parameter %q: write a semicolon in a query as %%3B", name)
		}
	}
	return nil
}

func (t *target) isRecord() bool { return t.retrieval || t.item != 0 }

func (t *target) recordURL(position int64) (uri.URI, error) {
	return t.sibling(t.path, t.search, position)
}

// sibling returns the URL of another resource on the same server, with the same element set and
// syntaxes.
func (t *target) sibling(path, search string, position int64) (uri.URI, error) {
	p := uri.Parts{Scheme: "z39.50s", Login: t.url.Userinfo(), Host: t.url.Host(),
		Port: t.url.Port(port), Path: path}
	params := ""
	if t.elements != "" {
		params += ";esn=" + uri.Escape(t.elements)
	}
	if t.syntaxes != nil {
		var names []string
		for _, oid := range t.syntaxes {
			names = append(names, uri.Escape(syntaxName(oid)))
		}
		params += ";rs=" + strings.Join(names, "+")
	}
	if position != 0 {
		params += ";item=" + strconv.FormatInt(position, 10)
	}
	if search != "" {
		p.Query = "?" + search + params
	} else {
		p.Path += params
	}
	return p.URI()
}

func (t *target) resultKey() string {
	key := strings.Join(t.databases, "\x00") + "\x00\x00" + t.search
	if t.retrieval {
		return "r" + key
	}
	return "s" + key
}

// searches returns the queries to try in order. One of the lists may be empty.
func (t *target) searches() (words, document []codec.Query, err error) {
	document = []codec.Query{
		{Term: t.query, Attributes: []codec.Attribute{{Type: codec.AttrUse, Value: codec.UseDocID},
			{Type: codec.AttrStructure, Value: codec.StructureURx}}},
		{Term: t.query, Attributes: []codec.Attribute{{Type: codec.AttrUse, Value: codec.UseDocID}}},
		{Term: t.query, Attributes: []codec.Attribute{{Type: codec.AttrUse, Value: codec.UseLocalNumber}}},
	}
	if t.retrieval {
		return nil, document, nil
	}
	if isPrefixQuery(t.words) {
		q, err := parsePrefix(t.words)
		return []codec.Query{q}, nil, err
	}
	anywhere, err := parseWords(t.words, []codec.Attribute{{Type: codec.AttrUse, Value: codec.UseAny}})
	if err != nil {
		return nil, nil, err
	}
	plain, err := parseWords(t.words, nil)
	return []codec.Query{anywhere, plain}, document, err
}
