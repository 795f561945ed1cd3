package render

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
)

type meta struct {
	Event       string              `json:"event"`
	URL         string              `json:"url"`
	Time        string              `json:"time"`
	FinalURL    string              `json:"final_url,omitempty"`
	Kind        string              `json:"kind"`
	Name        string              `json:"name,omitempty"`
	ContentType string              `json:"content_type,omitempty"`
	Size        *int64              `json:"size,omitempty"`
	ModTime     string              `json:"mtime,omitempty"`
	ETag        string              `json:"etag,omitempty"`
	Validator   string              `json:"validator,omitempty"`
	Status      int                 `json:"status,omitempty"`
	Reply       string              `json:"reply,omitempty"`
	Header      map[string][]string `json:"header,omitempty"`
	ByClose     bool                `json:"framed_by_close,omitempty"`
	Capture     *fetch.Capture      `json:"capture,omitempty"`
	Form        *fetch.Form         `json:"form,omitempty"`
}

// MetaJSON writes the metadata of the resource at url as one line of JSON: event ("described"),
// url, time, final_url after redirects, kind ("object", "listing" or "session"), name,
// content_type, size, mtime, etag or validator, status, reply, header, framed_by_close, capture and
// form. Unknown values are omitted.
func MetaJSON(w io.Writer, url, final string, m *fetch.Meta) error {
	if final == url {
		final = ""
	}
	return WriteJSON(w, meta{
		Event: "described", URL: url, Time: timeText(time.Now()), FinalURL: final,
		Kind: m.Kind.String(), Name: m.Name, ContentType: m.ContentType,
		Size: sizePtr(m.Size), ModTime: timeText(m.ModTime), ETag: sentTag(m), Validator: derivedTag(m),
		Status: m.Reply.Code, Reply: replyText(m.Reply), Header: withoutSecrets(m.Header),
		ByClose: m.Framing == fetch.FramedByClose, Capture: m.Capture, Form: m.Form,
	})
}

func sentTag(m *fetch.Meta) string {
	if m.Header.Get("Etag") == "" {
		return ""
	}
	return m.ETag
}

// derivedTag returns the validator that the driver made from other metadata, for protocols without
// entity tags.
func derivedTag(m *fetch.Meta) string {
	if m.Header.Get("Etag") != "" {
		return ""
	}
	return m.ETag
}

// MetaText writes the metadata of the resource at url as text: the URL, one line per known fact, one
// per native field if fields is set, and the form, if any. Control characters are escaped.
func MetaText(w io.Writer, url string, m *fetch.Meta, fields bool) error {
	f := Facts{{"kind", m.Kind.String()}, {"name", m.Name}, {"type", m.ContentType}}
	if m.Size >= 0 {
		f = append(f, Fact{"size", strconv.FormatInt(m.Size, 10)})
	} else if m.Framing == fetch.FramedByClose {
		f = append(f, Fact{"size", "unknown: the end of the connection marks the end"})
	}
	if !m.ModTime.IsZero() {
		f = append(f, Fact{"modified", m.ModTime.Local().Format(time.RFC3339)})
	}
	f = append(f, Fact{"etag", sentTag(m)}, Fact{"validator", derivedTag(m)},
		Fact{"reply", replyText(m.Reply)})
	if m.Capture != nil {
		f = append(f, Fact{"captured", m.Capture.String()})
	}
	if fields {
		f = append(f, Fields(m.Header)...)
	}
	if _, err := io.WriteString(w, fetch.Printable(url)+"\n"); err != nil {
		return err
	}
	if err := f.Text(w); err != nil || m.Form == nil {
		return err
	}
	return Form(w, m.Form)
}

// withoutSecrets returns header with masked cookie values, because cookies may be credentials.
func withoutSecrets(header map[string][]string) map[string][]string {
	shown := header
	for _, name := range []string{"Set-Cookie", "Set-Cookie2"} {
		values, ok := header[name]
		if !ok {
			continue
		}
		masked := make([]string, len(values))
		for i, v := range values {
			masked[i] = "xxxxx"
			if key, _, ok := strings.Cut(v, "="); ok {
				masked[i] = key + "=xxxxx"
			}
		}
		shown = maps.Clone(shown)
		shown[name] = masked
	}
	return shown
}

// Fields returns protocol-native fields as facts, sorted by name, without the values of cookies.
func Fields(header map[string][]string) Facts {
	var f Facts
	for name, values := range withoutSecrets(header) {
		for _, v := range values {
			f = append(f, Fact{name, v})
		}
	}
	slices.SortStableFunc(f, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// A Fact is a name and a value.
type Fact struct{ Name, Value string }

// Facts is a list of facts that are printed as a table.
type Facts []Fact

// Text writes one aligned line for each fact that has a value, control characters escaped.
func (f Facts) Text(w io.Writer) error {
	width := 0
	for _, fact := range f {
		if fact.Value != "" {
			width = max(width, len(fact.Name))
		}
	}
	for _, fact := range f {
		if fact.Value == "" {
			continue
		}
		name, value := fetch.Printable(fact.Name)+":", fetch.Printable(fact.Value)
		if _, err := fmt.Fprintf(w, "  %-*s  %s\n", width+1, name, value); err != nil {
			return err
		}
	}
	return nil
}

// ErrorText returns the text of err without the URL, followed by the server's reply in parentheses.
// It is one line, with control characters escaped.
func ErrorText(err error) string {
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		return e.Message()
	}
	return fetch.Printable(err.Error())
}
