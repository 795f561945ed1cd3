package links

import (
	"bytes"
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

// A manifest is a web app manifest (https://www.w3.org/TR/appmanifest/). As in browsers, members with a
// wrong type are ignored.
type manifest map[string]any

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
			if wrong := json.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &m); wrong != nil {
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

func (m manifest) entries(base uri.URI) iter.Seq[fetch.Entry] {
	return func(yield func(fetch.Entry) bool) {
		link := func(in manifest, member, rel string) bool {
			ref, _ := in[member].(string)
			if ref == "" {
				return true
			}
			e := entry(base, ref, rel)
			e.ContentType, _ = in["type"].(string)
			return yield(e)
		}
		all := func(in manifest, member, rel string) bool {
			for picture := range in.list(member) {
				if !link(picture, "src", rel) {
					return false
				}
			}
			return true
		}
		if !link(m, "start_url", "a") || !all(m, "icons", "icon") || !all(m, "screenshots", "screenshot") {
			return
		}
		for shortcut := range m.list("shortcuts") {
			if !link(shortcut, "url", "a") || !all(shortcut, "icons", "icon") {
				return
			}
		}
	}
}

// list yields the objects of a member that is an array.
func (m manifest) list(member string) iter.Seq[manifest] {
	return func(yield func(manifest) bool) {
		list, _ := m[member].([]any)
		for _, value := range list {
			if object, ok := value.(map[string]any); ok && !yield(object) {
				return
			}
		}
	}
}
