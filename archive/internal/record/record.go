// Package record defines the metadata records of docs/warc.md: exchanges, and the members of
// listings.
package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// The content types of the records.
const (
	TypeExchange = "application/x-urlget-exchange+json"
	TypeEntries  = "application/x-urlget-entries+json-seq"
)

// CacheKey is the WARC field of the responses in the archives of a cache for the requests that they
// answer. Its value is [fetch.Variant.Key], followed by CacheLogin if the request identified a user, and
// by CacheProxied if WARC-IP-Address is that of a proxy. Responses without it are not used by a cache.
const (
	CacheKey     = "Urlget-Cache-Key"
	CacheLogin   = "login"
	CacheProxied = "proxied"
)

// CacheValidator is the WARC field for the validator of a request whose response is 304, in the archives
// of a cache: the value of If-None-Match or, without it, of If-Modified-Since.
const CacheValidator = "Urlget-Cache-Validator"

// TypeChange is the content type of the metadata records of a cache that say that a request may have
// changed the resource of their target.
const TypeChange = "application/x-urlget-change"

// MaxExchange limits the block of an exchange record, in bytes.
const MaxExchange = 1 << 20

// An Exchange is the block of the metadata record of an exchange over any protocol: the request and
// its outcome.
type Exchange struct {
	URL     string      `json:"url"` // without password and fragment
	Op      fetch.Op    `json:"op"`
	Time    time.Time   `json:"time"`
	Seconds float64     `json:"seconds"` // 0 if unknown
	Range   fetch.Range `json:"range,omitzero"`
	View    string      `json:"view,omitempty"`
	// Form is the FormDigest of the submitted form.
	Form        string    `json:"form,omitempty"`
	Conditional bool      `json:"conditional,omitempty"`
	Content     string    `json:"content,omitempty"` // the WARC-Record-ID of the resource or revisit record
	Entries     string    `json:"entries,omitempty"` // that of the record with the members of a listing
	Response    *Response `json:"answer,omitempty"`  // nil if there was no successful response
	Failure     *Failure  `json:"failure,omitempty"` // nil if the exchange succeeded
}

// ReadExchange reads the block of an exchange record.
func ReadExchange(block io.Reader) (*Exchange, error) {
	text, err := io.ReadAll(io.LimitReader(block, MaxExchange+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxExchange {
		return nil, fmt.Errorf("exchange record is longer than %d bytes", MaxExchange)
	}
	x := &Exchange{}
	return x, json.Unmarshal(text, x)
}

// A Response is the stored metadata of a response.
type Response struct {
	// URL is the URL of the content, without a password, if it differs from that of the exchange,
	// for example by the final slash of a directory.
	URL         string               `json:"url,omitempty"`
	Kind        string               `json:"kind"`
	ContentType string               `json:"content_type,omitempty"`
	Size        int64                `json:"size"` // -1 if unknown
	Range       fetch.Range          `json:"range,omitzero"`
	Total       int64                `json:"total,omitempty"`
	Validator   fetch.Validator      `json:"validator,omitzero"`
	Name        string               `json:"name,omitempty"`
	ByClose     bool                 `json:"framed_by_close,omitempty"`
	Decoded     bool                 `json:"decoded,omitempty"`
	Lines       bool                 `json:"text,omitempty"` // fetch.Meta.Text
	Code        int                  `json:"reply_code,omitempty"`
	Text        string               `json:"reply,omitempty"`
	Header      textproto.MIMEHeader `json:"header,omitempty"`
	Location    []string             `json:"location,omitempty"`
	Pattern     bool                 `json:"pattern,omitempty"`
}

// A Failure is the stored error of an exchange.
type Failure struct {
	Class      fetch.Code           `json:"class"`
	Message    string               `json:"message"`
	Code       int                  `json:"reply_code,omitempty"`
	Text       string               `json:"reply,omitempty"`
	Retry      bool                 `json:"retry,omitempty"`
	RetryAfter float64              `json:"retry_after,omitempty"` // seconds
	Reason     fetch.Reason         `json:"reason,omitzero"`
	Hint       string               `json:"hint,omitempty"`
	Header     textproto.MIMEHeader `json:"header,omitempty"`
	Body       []byte               `json:"body,omitempty"`
	Partial    bool                 `json:"partial,omitempty"` // body is truncated
	Form       *fetch.Form          `json:"form,omitempty"`    // the form that the URL requires
	// Unsupported is set if the scheme does not support the operation, so that another operation
	// may succeed.
	Unsupported bool `json:"unsupported,omitempty"`
}

// An Entry is a line of the record with the members of a listing.
type Entry struct {
	URL         string          `json:"url,omitempty"`
	Name        string          `json:"name"`
	Kind        string          `json:"kind"`
	Rel         string          `json:"rel,omitempty"`
	ContentType string          `json:"content_type,omitempty"`
	Size        int64           `json:"size"`
	ModTime     time.Time       `json:"mtime,omitzero"`
	Driver      string          `json:"driver,omitempty"` // the driver that defines Sys
	Sys         json.RawMessage `json:"sys,omitempty"`
	Word        string          `json:"word,omitempty"` // a word for the type, such as "article"
}

// Target returns the WARC-Target-URI of records of u: without fragment and password.
func Target(u uri.URI) string { return u.WithoutFragment().WithoutPassword().String() }

// Key returns the same text for equivalent URLs. Unlike [uri.URI.Key] it keeps the user name and
// the scheme, because an archive distinguishes their responses.
func Key(u uri.URI) string { return Target(u.Normalize()) }

// KeyOf returns the Key of a URL in a record or an index, or "" if the text is not an absolute URL.
func KeyOf(text string) string {
	u, err := uri.ParseRef(text)
	if err != nil || !u.IsAbs() {
		return ""
	}
	return Key(u)
}

// FormDigest returns a digest of a submitted form, or "" if there is none. The form itself may be
// secret and is not stored.
func FormDigest(form map[string][]string) string {
	if len(form) == 0 {
		return ""
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(form)) {
		fmt.Fprintf(h, "%q%q", name, form[name])
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

var kinds = []fetch.Kind{fetch.KindObject, fetch.KindListing, fetch.KindSession, fetch.KindNone}

// named returns the kind with a name, or the zero value if there is none.
func named[K fmt.Stringer](list []K, name string) (kind K) {
	if i := slices.IndexFunc(list, func(k K) bool { return k.String() == name }); i >= 0 {
		kind = list[i]
	}
	return kind
}

// NewResponse returns the stored metadata of a response.
func NewResponse(r *fetch.Response) *Response {
	a := &Response{
		Kind: r.Kind.String(), ContentType: r.ContentType, Size: r.Size, Range: r.Range, Total: r.Total,
		Validator: r.Validator, Name: r.Name, Decoded: r.Decoded, Lines: r.Meta.Text,
		Code: r.Reply.Code, Text: r.Reply.Text, Header: r.Header, Pattern: r.Pattern,
	}
	for _, u := range r.Location {
		a.Location = append(a.Location, u.WithoutPassword().String())
	}
	return a
}

// Meta returns the metadata of the resource.
func (a *Response) Meta() fetch.Meta {
	m := fetch.Meta{
		ContentType: a.ContentType, Size: max(a.Size, -1), Range: a.Range, Total: a.Total,
		Validator: a.Validator, Decoded: a.Decoded, Text: a.Lines,
		Reply: fetch.Reply{Code: a.Code, Text: a.Text}, Header: a.Header,
	}
	m.Kind = named(kinds, a.Kind)
	if a.Name != "" {
		m.Name = fetch.SafeName(a.Name)
	}
	if a.ByClose {
		m.Framing = fetch.FramedByClose
	}
	return m
}

// NewFailure returns the stored form of err. It returns nil if err is nil or only reports that the
// caller closed the response.
func NewFailure(err error) *Failure {
	if err == nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	unsupported := errors.Is(err, errors.ErrUnsupported)
	f := &Failure{Class: fetch.CodeOf(err), Message: err.Error(), Unsupported: unsupported}
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		cause := *e
		cause.Reply = fetch.Reply{}
		f.Message = cause.Message()
		f.Code, f.Text, f.Retry, f.RetryAfter = e.Reply.Code, e.Reply.Text, e.Retry, e.RetryAfter.Seconds()
		f.Reason, f.Hint, f.Header, f.Body, f.Partial = e.Reason, e.Hint, e.Header, e.Body, e.Partial
	}
	if asked, ok := errors.AsType[*fetch.FormError](err); ok {
		f.Form = &asked.Form
	}
	return f
}

// Error returns the error of the exchange. It is never marked as retryable, because an archive does
// not change.
func (f *Failure) Error() *fetch.Error {
	e := &fetch.Error{
		Code: f.Class, Reply: fetch.Reply{Code: f.Code, Text: f.Text}, Reason: f.Reason, Hint: f.Hint,
		Header: f.Header, Body: f.Body, Partial: f.Partial,
	}
	switch {
	case f.Form != nil:
		e.Err = &fetch.FormError{Form: *f.Form}
	case f.Unsupported:
		message := strings.TrimSuffix(f.Message, ": "+errors.ErrUnsupported.Error())
		e.Err = fmt.Errorf("%s: %w", message, errors.ErrUnsupported)
	case f.Message != "" && f.Message != f.Class.Error():
		e.Err = errors.New(f.Message)
	}
	return e
}

// NewEntry returns the line for a member of a listing.
func NewEntry(e fetch.Entry) Entry {
	out := Entry{
		URL: e.URL.WithoutPassword().String(), Name: e.Name, Kind: e.Kind.String(), Rel: e.Rel,
		ContentType: e.ContentType, Size: e.Size, ModTime: e.ModTime,
	}
	facts := e.Facts()
	out.Word = facts.Word
	if facts.Driver != "" {
		if text, err := json.Marshal(facts); err == nil {
			out.Driver, out.Sys = facts.Driver, text
		}
	}
	return out
}

var entryKinds = []fetch.EntryKind{
	fetch.EntryObject, fetch.EntryListing, fetch.EntrySearch,
	fetch.EntrySession, fetch.EntryText, fetch.EntryError,
}

// Entry returns the member of the listing.
func (e *Entry) Entry() (fetch.Entry, error) {
	out := fetch.Entry{
		Name: e.Name, Rel: e.Rel, ContentType: e.ContentType, Size: max(e.Size, -1), ModTime: e.ModTime,
	}
	out.Kind = named(entryKinds, e.Kind)
	if e.Driver != "" {
		own := archivedFacts{Driver: e.Driver, List: factsOf(e.Sys), JSON: unescapeHTML(e.Sys)}
		if isWord(e.Word) {
			own.Word = e.Word
		}
		out.Sys = own
	}
	if e.URL == "" {
		return out, nil
	}
	var err error
	out.URL, err = uri.Parse(e.URL)
	return out, err
}

type archivedFacts fetch.Facts

func (f archivedFacts) EntryFacts() fetch.Facts { return fetch.Facts(f) }

// unescapeHTML returns JSON text with "<", ">" and "&" in place of their escapes, which encoding/json
// writes by default. Otherwise replayed facts would differ from those of the server.
func unescapeHTML(text json.RawMessage) json.RawMessage {
	if !bytes.Contains(text, []byte(`\u00`)) {
		return text
	}
	escapes := map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}
	var out []byte
	for i := 0; i < len(text); i++ {
		switch c, ok := escapes[string(text[i:min(i+6, len(text))])]; {
		case ok:
			out = append(out, c)
			i += 5
		case text[i] == '\\' && i+1 < len(text): // also an escaped backslash
			out = append(out, text[i], text[i+1])
			i++
		default:
			out = append(out, text[i])
		}
	}
	return out
}

// factsOf returns the facts in a JSON object, or none if text is not an object.
func factsOf(text json.RawMessage) []fetch.Fact {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	var facts []fetch.Fact
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		facts = append(facts, fetch.Fact{Name: name.(string), Value: factValue(value)})
	}
	return facts
}

// factValue decodes a value into the Go type that drivers use. Other values stay JSON.
func factValue(text json.RawMessage) any {
	switch first := text[0]; {
	case first == '"':
		return decoded[string](text)
	case first == '[':
		return decoded[[]string](text)
	case first == '-':
		return decoded[int64](text)
	case first >= '0' && first <= '9':
		return decoded[uint64](text)
	}
	return text
}

func decoded[T any](text json.RawMessage) any {
	var v T
	if json.Unmarshal(text, &v) != nil {
		return text
	}
	return v
}

// maxWord limits the length of Entry.Word, because an archive may be untrusted.
const maxWord = 16

func isWord(s string) bool {
	return s != "" && len(s) <= maxWord && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
}
