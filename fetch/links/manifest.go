package links

import (
	"encoding/json"
	"io"
	"iter"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	manifestType = "application/manifest+json"
	maxManifest  = 4 << 20 // bytes
)

// A manifest is a web app manifest (https://www.w3.org/TR/appmanifest/), as far as it has links.
type manifest struct {
	Start       string     `json:"start_url"`
	Icons       []resource `json:"icons"`
	Screenshots []resource `json:"screenshots"`
	Shortcuts   []struct {
		URL   string     `json:"url"`
		Icons []resource `json:"icons"`
	} `json:"shortcuts"`
}

type resource struct {
	Src  string `json:"src"`
	Type string `json:"type"`
}

// readManifest yields the pictures of a web app manifest with the relations "icon" and "screenshot", and
// its pages with the relation "a".
func readManifest(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
		var m manifest
		switch {
		case err != nil:
		case len(text) > maxManifest:
			err = tooLong("a manifest", maxManifest, base)
		default:
			if wrong := json.Unmarshal(text, &m); wrong != nil {
				err = &fetch.Error{Op: "read", URL: base.Redacted(), Code: fetch.ErrProtocol, Err: wrong}
			}
		}
		if err != nil {
			yield(fetch.Entry{}, err)
			return
		}
		for e := range m.entries(base) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *manifest) entries(base uri.URI) iter.Seq[fetch.Entry] {
	return func(yield func(fetch.Entry) bool) {
		link := func(ref, rel, contentType string) bool {
			if ref == "" {
				return true
			}
			e := entry(base, ref, rel)
			e.ContentType = contentType
			return yield(e)
		}
		all := func(list []resource, rel string) bool {
			for _, r := range list {
				if !link(r.Src, rel, r.Type) {
					return false
				}
			}
			return true
		}
		if !link(m.Start, "a", "") || !all(m.Icons, "icon") || !all(m.Screenshots, "screenshot") {
			return
		}
		for _, s := range m.Shortcuts {
			if !link(s.URL, "a", "") || !all(s.Icons, "icon") {
				return
			}
		}
	}
}
