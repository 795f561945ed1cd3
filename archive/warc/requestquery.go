package warc

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxQuery limits the query that stands for a request body, in characters, as in cdxj-indexer.
	maxQuery = 4096
	// maxQueryBody limits the request bodies that are read for it, in bytes.
	maxQueryBody = 8 << 20
	// maxUnsized limits a body without Content-Length, in bytes, as in cdxj-indexer.
	maxUnsized = 8192
)

// readRequest reads the request message in a block. For POST and PUT, query stands for the body in the
// key of an index. The rules are those of cdxj-indexer and pywb ("CDX Guidelines: Non-GET Requests" of
// the IIPC), so that these find the capture: a form and JSON become parameters, other bodies base64.
func readRequest(block io.Reader) (method, query string, err error) {
	req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(block, maxIndexedHead+maxQueryBody)))
	if err != nil {
		return "", "", err
	}
	if req.Method != http.MethodPost && req.Method != http.MethodPut {
		return req.Method, "", nil
	}
	src := io.Reader(req.Body)
	if req.ContentLength < 0 {
		src = io.LimitReader(src, maxUnsized)
	}
	body, _ := io.ReadAll(io.LimitReader(src, maxQueryBody)) // a body that is cut off has a key, too
	query = bodyQuery(req.Header.Get("Content-Type"), body)
	if utf8.RuneCountInString(query) > maxQuery {
		query = string([]rune(query)[:maxQuery])
	}
	return req.Method, query, nil
}

func bodyQuery(contentType string, body []byte) string {
	is := func(prefix string) bool { return strings.HasPrefix(contentType, prefix) }
	switch {
	case is("application/x-www-form-urlencoded") && utf8.Valid(body):
		return strings.ToValidUTF8(unescapePlus(string(body)), "\uFFFD")
	case is("multipart/"):
		if query, ok := multipartQuery(contentType, body); ok {
			return query
		}
	case is("application/json"), is("text/plain"):
		if query, err := jsonQuery(body); err == nil || is("application/json") {
			return query
		}
	}
	return "__wb_post_data=" + base64.StdEncoding.EncodeToString(body)
}

// unescapePlus is url.QueryUnescape, but keeps what is not percent-encoding.
func unescapePlus(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '+' {
			c = ' '
		} else if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c, i = byte(n), i+2
			}
		}
		out.WriteByte(c)
	}
	return out.String()
}

func multipartQuery(contentType string, body []byte) (query string, ok bool) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return "", false
	}
	r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := r.NextRawPart()
		if err != nil {
			return query, err == io.EOF
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return "", false
		}
		query = withParameter(query, part.FormName(), string(value))
	}
}

func withParameter(query, name, value string) string {
	return strings.TrimPrefix(query+"&"+url.QueryEscape(name)+"="+url.QueryEscape(value), "&")
}

// jsonQuery returns the members of JSON, or of lines of JSON, as parameters. Names may be repeated: "a",
// "a.2_", "a.3_". Values are written as by Python.
func jsonQuery(text []byte) (string, error) {
	q := &jsonParameters{count: make(map[string]int)}
	err := q.add(text)
	if err != nil && bytes.Contains(text, []byte("\n")) {
		q = &jsonParameters{count: make(map[string]int)}
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			if err = q.add(line); err != nil {
				break
			}
		}
	}
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(q.query.String(), "&"), nil
}

type jsonParameters struct {
	query strings.Builder
	count map[string]int // of a name
}

func (q *jsonParameters) add(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := q.value(d, "", 0); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("data after JSON")
	}
	return nil
}

// maxJSONDepth limits the nesting of JSON.
const maxJSONDepth = 500

func (q *jsonParameters) value(d *json.Decoder, name string, depth int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		if name != "" {
			q.parameter(name, pythonText(t))
		}
		return nil
	}
	if depth == maxJSONDepth {
		return errors.New("JSON is nested too deeply")
	}
	for d.More() {
		member := name
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			member = key.(string) // as Token documents
		}
		if err := q.value(d, member, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func (q *jsonParameters) parameter(name, value string) {
	q.count[name]++
	if n := q.count[name]; n > 1 {
		name = fmt.Sprintf("%s.%d_", name, n)
	}
	if q.query.Len() <= 3*maxQuery { // the rest would be cut off
		fmt.Fprintf(&q.query, "&%s=%s", url.QueryEscape(name), url.QueryEscape(value))
	}
}

// pythonText returns str(t) of Python for a value in JSON.
func pythonText(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "None"
	case bool:
		if t {
			return "True"
		}
		return "False"
	case json.Number:
		return pythonNumber(t)
	}
	return fmt.Sprint(t)
}

func pythonNumber(n json.Number) string {
	if !strings.ContainsAny(n.String(), ".eE") {
		if n == "-0" {
			return "0"
		}
		return n.String()
	}
	f, err := n.Float64()
	if err != nil {
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	}
	// Python uses the exponent below 1e-4 and from 1e16 on.
	if text := strconv.FormatFloat(f, 'e', -1, 64); f != 0 &&
		(f < 1e-4 && f > -1e-4 || f >= 1e16 || f <= -1e16) {
		return text
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
