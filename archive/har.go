package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A harEntry is an exchange in an HTTP Archive (HAR 1.2, http://www.softwareishard.com/blog/har-12-spec/).
type harEntry struct {
	Started time.Time `json:"startedDateTime"`
	Address string    `json:"serverIPAddress"`
	Request struct {
		Method   string     `json:"method"`
		URL      string     `json:"url"`
		Headers  []harField `json:"headers"`
		PostData *struct {
			MimeType, Text string
		} `json:"postData"`
	} `json:"request"`
	Response struct {
		Status     int        `json:"status"`
		StatusText string     `json:"statusText"`
		Version    string     `json:"httpVersion"`
		Headers    []harField `json:"headers"`
		Content    struct {
			Size           int64 // in bytes
			MimeType, Text string
			Encoding       string
		} `json:"content"`
	} `json:"response"`
}

type harField struct{ Name, Value string }

// HAR imports the HTTP exchanges of an HTTP Archive, which browsers export. Its bodies are decoded, so
// the records have no content coding. A response whose content was not exported is reported as a problem.
// The files are restricted to their owner, because the requests have cookies.
func (m *Importer) HAR(ctx context.Context, file io.Reader, name string) error {
	m.w.Restrict()
	in := bufio.NewReader(file)
	if begin, _ := in.Peek(3); string(begin) == "\ufeff" {
		in.Discard(3)
	}
	d, found := json.NewDecoder(in), false
	err := eachMember(d, func(key string) error {
		if key != "log" {
			return skipValue(d)
		}
		return eachMember(d, func(key string) error {
			if key != "entries" {
				return skipValue(d)
			}
			found = true
			return m.harEntries(ctx, d, name)
		})
	})
	if err == nil && !found {
		err = errors.New("no entries")
	}
	if err != nil {
		return fmt.Errorf("%s: HAR: %w", name, err)
	}
	return nil
}

func eachMember(d *json.Decoder, f func(key string) error) error {
	if err := expect(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if err := f(key.(string)); err != nil { // as Token documents
			return err
		}
	}
	return expect(d, '}')
}

func expect(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if err == nil && t != want {
		err = fmt.Errorf("expected %v, found %.40q", want, fmt.Sprint(t))
	}
	return err
}

func skipValue(d *json.Decoder) error {
	var value json.RawMessage
	return d.Decode(&value)
}

func (m *Importer) harEntries(ctx context.Context, d *json.Decoder, name string) error {
	if err := expect(d, '['); err != nil {
		return err
	}
	for n := 1; d.More(); n++ {
		if err := fetch.ContextError(ctx); err != nil {
			return err
		}
		var e harEntry
		if err := d.Decode(&e); err != nil {
			return err
		}
		u, err := uri.ParseRef(e.Request.URL)
		if err == nil && !httprecord.InScheme(u.Scheme()) {
			continue // such as data and blob
		}
		var body []byte
		if err == nil {
			body, err = e.content()
		}
		if err != nil {
			m.problem(fmt.Errorf("%s: entry %d: %w", name, n, err))
			continue
		}
		if err := m.harRecords(&e, u, body); err != nil {
			return err
		}
	}
	return expect(d, ']')
}

// content returns the body of the response, and replaces a 304 by the response that the browser showed.
func (e *harEntry) content() ([]byte, error) {
	r := &e.Response
	body, err := []byte(r.Content.Text), error(nil)
	switch {
	case e.Started.IsZero():
		return nil, errors.New("no date")
	case r.Status < 200 || r.Status > 999:
		return nil, errors.New("no response")
	case len(body) == 0 && r.Content.Size > 0:
		return nil, errors.New("the content was not exported")
	case r.Content.Encoding == "base64":
		if body, err = base64.StdEncoding.DecodeString(r.Content.Text); err != nil {
			return nil, err
		}
	case r.Content.Encoding != "":
		return nil, fmt.Errorf("unknown encoding %q", r.Content.Encoding)
	}
	if r.Status == http.StatusNotModified && len(body) > 0 {
		r.Status, r.StatusText = http.StatusOK, "OK"
	}
	return body, nil
}

func (m *Importer) harRecords(e *harEntry, u uri.URI, body []byte) error {
	r := &e.Response
	contentType := ""
	head := harHead(r.Headers, &contentType)
	if contentType == "" && len(body) > 0 {
		contentType = r.Content.MimeType
	}
	if r.Content.Encoding == "" && len(body) > 0 {
		contentType = inUTF8(contentType)
	}
	status := strings.TrimSpace(fmt.Sprintf("HTTP/1.1 %d %s", r.Status, clean(r.StatusText)))
	answer := m.harRecord(e, u, warc.Response, status, contentType, head, body)
	id := answer.Get("WARC-Record-ID")
	if err := m.importRecord(answer); err != nil {
		return err
	}
	sent, contentType := []byte(nil), ""
	head = harHead(e.Request.Headers, &contentType)
	if p := e.Request.PostData; p != nil {
		sent = []byte(p.Text)
		if contentType == "" {
			contentType = p.MimeType
		}
	}
	if !strings.Contains(strings.ToLower("\r\n"+head), "\r\nhost:") {
		head = "Host: " + strings.TrimSuffix(u.HostPort(0), ":0") + "\r\n" + head
	}
	method := e.Request.Method
	if !httpguts.ValidHeaderFieldName(method) { // a token, too
		method = http.MethodGet
	}
	request := m.harRecord(e, u, warc.Request, method+" "+requestTarget(u)+" HTTP/1.1", contentType, head,
		sent)
	request.Header.Add("WARC-Concurrent-To", id)
	return m.importRecord(request)
}

func requestTarget(u uri.URI) string {
	target := cmp.Or(u.Path(), "/")
	if query, ok := u.Query(); ok {
		target += "?" + query
	}
	return target
}

func (m *Importer) harRecord(
	e *harEntry, u uri.URI, kind, line, contentType, head string, body []byte,
) *warc.Record {
	text := line + "\r\n" + head
	if contentType != "" {
		text += "Content-Type: " + clean(contentType) + "\r\n"
	}
	if len(body) > 0 || kind == warc.Response {
		text += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	block := append([]byte(text+"\r\n"), body...)
	h := warc.NewHeader(kind, "application/http;msgtype="+kind, record.Target(u), e.Started)
	if addr, err := netip.ParseAddr(strings.Trim(e.Address, "[]")); err == nil {
		h.Add("WARC-IP-Address", addr.String())
	}
	switch strings.ToLower(e.Response.Version) {
	case "h2", "http/2", "http/2.0":
		h.Add("WARC-Protocol", "h2")
	case "h3", "http/3", "http/3.0":
		h.Add("WARC-Protocol", "h3")
	}
	return &warc.Record{Header: h, Length: int64(len(block)), Block: bytes.NewReader(block)}
}

// harHead returns the fields of a header except those of the framing and the coding, which the body does
// not have, and sets contentType to the value of Content-Type.
func harHead(fields []harField, contentType *string) string {
	var head strings.Builder
	for _, f := range fields {
		switch name := strings.ToLower(f.Name); {
		case !httpguts.ValidHeaderFieldName(name), name == "content-length",
			name == "content-encoding", name == "transfer-encoding":
		case name == "content-type":
			*contentType = f.Value
		default:
			for value := range strings.SplitSeq(f.Value, "\n") { // several fields of one name
				fmt.Fprintf(&head, "%s: %s\r\n", f.Name, clean(value))
			}
		}
	}
	return head.String()
}

func clean(value string) string { return strings.Join(strings.Fields(value), " ") }

// inUTF8 returns a content type with the charset of texts in a HAR, which browsers have decoded.
func inUTF8(contentType string) string {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(kind, "text/") && params["charset"] == "" {
		return contentType
	}
	params["charset"] = "utf-8"
	return mime.FormatMediaType(kind, params)
}

// importRecord writes a record that was made for the import.
func (m *Importer) importRecord(rec *warc.Record) error {
	d, err := m.copy(rec)
	if err != nil {
		return err
	}
	defer d.close()
	return m.write(d)
}
