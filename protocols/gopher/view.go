package gopher

import (
	"mime"
	"strings"

	"github.com/urlget/urlget/fetch"
)

type view struct{ media, lang string }

func (v view) String() string {
	if v.lang == "" {
		return v.media
	}
	return v.media + " " + v.lang
}

// views returns the views of an item in the order of the server's preference. A line is "media
// language: <size>"; language and size may be missing. The sizes are too inexact to be used.
func views(list []Attribute) []view {
	block, _ := attribute(list, "VIEWS")
	var all []view
	for _, line := range block.Lines {
		text, _, _ := strings.Cut(line, ":")
		if media, lang, _ := strings.Cut(strings.TrimSpace(text), " "); media != "" {
			all = append(all, view{media, strings.TrimSpace(lang)})
		}
	}
	return all
}

// parseView reads a view as users write it, "text/html;lang=De_DE", or as a URL contains it,
// "text/html De_DE".
func parseView(s string) view {
	media, lang, ok := strings.Cut(s, ";")
	if ok {
		lang = strings.TrimSpace(lang)
		if len(lang) > 5 && strings.EqualFold(lang[:5], "lang=") {
			lang = strings.Trim(lang[5:], `"`)
		}
	} else {
		media, lang, _ = strings.Cut(s, " ")
	}
	return view{strings.TrimSpace(media), strings.TrimSpace(lang)}
}

// choose returns the view that a request prefers. It returns false if none matches.
func choose(all []view, req *fetch.Request) (view, bool) {
	accept := req.Accept
	if len(accept) == 0 {
		accept = []string{"*/*"}
	}
	languages := acceptLanguages(req)
	for _, pattern := range accept {
		var matches []view
		for _, v := range all {
			if matchMedia(pattern, v.media) {
				matches = append(matches, v)
			}
		}
		for _, lang := range languages {
			for _, v := range matches {
				if matchLanguage(lang, v.lang) {
					return v, true
				}
			}
		}
		if len(matches) > 0 {
			return matches[0], true
		}
	}
	return view{}, false
}

func hasPreference(req *fetch.Request) bool {
	return len(req.Accept) > 0 || req.Header.Get("Accept-Language") != ""
}

func acceptLanguages(req *fetch.Request) []string {
	var all []string
	for _, field := range req.Header.Values("Accept-Language") {
		for lang := range strings.SplitSeq(field, ",") {
			lang, _, _ = strings.Cut(lang, ";")
			if lang = strings.TrimSpace(lang); lang != "" {
				all = append(all, lang)
			}
		}
	}
	return all
}

// matchMedia reports whether a media type matches a pattern such as "text/html", "text/*" or "*/*".
// Parameters are ignored.
func matchMedia(pattern, media string) bool {
	if base, _, err := mime.ParseMediaType(pattern); err == nil {
		pattern = base
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return prefix == "*/" || len(media) >= len(prefix) && strings.EqualFold(media[:len(prefix)], prefix)
	}
	return strings.EqualFold(pattern, media)
}

// matchLanguage reports whether a language of Gopher+, such as "De_DE", is in the range "de" or
// "de-DE" (RFC 4647, section 3.3.1).
func matchLanguage(want, lang string) bool {
	lang = strings.ReplaceAll(lang, "_", "-")
	want = strings.ReplaceAll(want, "_", "-")
	if want == "*" {
		return true
	}
	if len(lang) > len(want) && lang[len(want)] == '-' {
		lang = lang[:len(want)]
	}
	return strings.EqualFold(want, lang)
}
