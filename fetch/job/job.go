package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// A Job is one operation on one URL. The zero value of every field other than URL is its default.
type Job struct {
	URL uri.URI `json:"url"`
	// Op is fetch.OpGet ("get" in JSON, or absent), fetch.OpList ("list") or fetch.OpStat ("stat").
	Op fetch.Op `json:"op,omitzero"`

	// From is the resource that supplied URL; zero if the user did. The policy is stricter when it
	// is set (see fetch.Request).
	From uri.URI `json:"from,omitzero"`
	// Depth is the number of links between URL and the URL from the user, and Attempt the number of
	// earlier attempts. A Runner only copies them to the Result.
	Depth   int `json:"depth,omitempty"`
	Attempt int `json:"attempt,omitempty"`

	// Header holds header fields to send, each as "Name: value".
	Header []string `json:"header,omitempty"`
	// Accept lists the preferred content types, best first.
	Accept []string `json:"accept,omitempty"`
	// View selects one of several representations (see fetch.Request).
	View string `json:"view,omitempty"`
	// Form holds the answers to the form at the URL, by field name.
	Form map[string][]string `json:"form,omitempty"`
	// Method is the request method, for protocols that have methods (see fetch.Request). Data is text
	// to send, of up to MaxData bytes. Its content type is application/x-www-form-urlencoded unless
	// Header has one.
	Method string `json:"method,omitempty"`
	Data   string `json:"data,omitempty"`
	// Upload, if not nil, sets Body, GetBody and ContentLength of each request. It replaces Data for
	// binary content, such as a file. It is not part of the JSON.
	Upload func(*fetch.Request) error `json:"-"`
	// Range requests a part of the content; zero means all of it. A negative offset counts from the
	// end. Ranges requests several parts at once (see fetch.Request).
	Range  fetch.Range   `json:"range,omitzero"`
	Ranges []fetch.Range `json:"ranges,omitempty"`
	// IfChanged makes the request conditional: if the resource still has this validator, the outcome
	// is Unchanged.
	IfChanged fetch.Validator `json:"if_changed,omitzero"`

	// Output is the destination of the content. "" means a file with an automatic name (see
	// download.Name), and a path with a trailing slash means such a file in that directory. Any
	// other path means that file, and "-" means Hooks.Writer. Paths are relative to the root of the
	// Runner's Downloader, with elements separated by slashes. A leading "./" is ignored, except
	// that "./-" is a file.
	//
	// If Output is "" or has a trailing slash, listings are passed to Hooks.Listing. Each resource
	// that matches a pattern becomes a job of its own. Otherwise, or without such a hook, listings
	// are saved like documents.
	Output string `json:"output,omitempty"`
	// Exists selects the action if the file exists: "new_name" (or absent), "overwrite", "skip",
	// "resume" or "newer" in JSON.
	Exists download.Exists `json:"exists,omitzero"`
	// Known holds the size, ETag and modification time of the resource from a listing: size, etag and
	// mtime in JSON. With download.Newer and download.Resume it can save a request.
	Known *download.Known `json:"known,omitempty"`
	// Checksum is the required checksum of the content: "sha256:" followed by hexadecimal digits, or
	// another algorithm (see download.Options).
	Checksum string `json:"checksum,omitempty"`
	// Segments is the number of ranges of a large file to retrieve in parallel. 0 and 1 mean a
	// single stream, and download.AutoSegments (-1) the number that is fastest.
	Segments int `json:"segments,omitempty"`
}

const (
	// maxEncoded bounds the JSON of a Job, in bytes. It leaves room for the longest URL, escaped.
	maxEncoded = 2 * uri.MaxLen
	// maxSegments bounds Job.Segments.
	maxSegments = 64
)

// MaxData is the maximum length of Job.Data in bytes, because jobs are sent through queues.
const MaxData = 512 << 10

const formType = "application/x-www-form-urlencoded"

// Decode reads a Job from JSON and validates it.
func Decode(data []byte) (*Job, error) {
	j := &Job{}
	var wrong *uri.Error
	switch err := unmarshal(data, j); {
	case errors.As(err, &wrong):
		return nil, &fetch.Error{Code: fetch.ErrURL, Err: err}
	case err != nil:
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: err}
	}
	if err := j.Validate(); err != nil {
		return nil, err
	}
	return j, nil
}

func unmarshal(data []byte, j *Job) error {
	if len(data) > maxEncoded {
		return fmt.Errorf("a job of more than %d bytes", maxEncoded)
	}
	return json.Unmarshal(data, j)
}

// MarshalJSON implements [json.Marshaler]. It returns an error if j has an Upload or bytes that are
// not UTF-8, such as a file in Form. JSON cannot represent them.
func (j Job) MarshalJSON() ([]byte, error) {
	if j.Upload != nil {
		return nil, errors.New("an upload cannot be encoded as JSON")
	}
	if err := j.eachText(func(field, text string) error {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%s is not valid UTF-8", field)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	type plain Job
	return json.Marshal(plain(j))
}

// eachText calls do for each text in j that is not a URL, until it returns an error.
func (j *Job) eachText(do func(field, text string) error) error {
	for _, f := range []struct {
		name  string
		texts []string
	}{{"header", j.Header}, {"accept", j.Accept}} {
		for _, text := range f.texts {
			if err := do(f.name, text); err != nil {
				return err
			}
		}
	}
	for _, f := range []struct{ name, text string }{
		{"view", j.View}, {"if_changed", j.IfChanged.ETag}, {"output", j.Output},
		{"checksum", j.Checksum}, {"method", j.Method}, {"data", j.Data},
	} {
		if err := do(f.name, f.text); err != nil {
			return err
		}
	}
	for name, values := range j.Form {
		for _, text := range append([]string{name}, values...) {
			if err := do("form", text); err != nil {
				return err
			}
		}
	}
	if j.Known != nil {
		return do("known", j.Known.ETag)
	}
	return nil
}

// A FieldError describes an invalid field of a Job. It omits the value, which may be secret.
type FieldError struct {
	Field  string // its name in JSON
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// Validate returns an error if j is invalid: one of class fetch.ErrRequest with a *FieldError, or
// one of class fetch.ErrURL if only the URL is wrong.
func (j *Job) Validate() error {
	for _, check := range []func() *FieldError{j.checkNumbers, j.checkLines, j.checkSent, j.checkOutput} {
		if wrong := check(); wrong != nil {
			return j.malformed(fetch.ErrRequest, wrong)
		}
	}
	if !j.URL.IsAbs() {
		return j.malformed(fetch.ErrURL, errors.New("the URL has no scheme"))
	}
	return nil
}

func (j *Job) malformed(code fetch.Code, err error) error {
	return &fetch.Error{Op: j.Op.String(), URL: j.URL.Redacted(), Code: code, Err: err}
}

func (j *Job) checkNumbers() *FieldError {
	switch {
	case j.Op != fetch.OpGet && j.Op != fetch.OpList && j.Op != fetch.OpStat:
		return &FieldError{"op", "must be get, list or stat"}
	case j.Depth < 0:
		return &FieldError{"depth", "must not be negative"}
	case j.Attempt < 0:
		return &FieldError{"attempt", "must not be negative"}
	case j.Segments < download.AutoSegments || j.Segments > maxSegments:
		return &FieldError{"segments",
			fmt.Sprintf("must be 0 to %d, or %d for automatic", maxSegments, download.AutoSegments)}
	case j.Known != nil && j.Known.Size < -1:
		return &FieldError{"known", "the size must not be negative"}
	case !isPart(j.Range), slices.ContainsFunc(j.Ranges, func(r fetch.Range) bool { return !isPart(r) }):
		return &FieldError{"range", "invalid range"}
	case !j.Range.IsZero() && len(j.Ranges) > 0:
		return &FieldError{"range", "excludes ranges"}
	case j.partial() && j.Op != fetch.OpGet:
		return &FieldError{"range", "requires op get"}
	case j.partial() && (j.Exists == download.Resume || j.Exists == download.Newer):
		return &FieldError{"range", "cannot be combined with resume or newer"}
	}
	return nil
}

func (j *Job) partial() bool { return !j.Range.IsZero() || len(j.Ranges) > 0 }

func isPart(r fetch.Range) bool {
	if r.Offset < 0 {
		return r.Length == 0
	}
	return r.Length >= 0 && r.Offset+r.Length >= 0
}

// checkLines returns an error for texts that a protocol could read as additional lines.
func (j *Job) checkLines() *FieldError {
	for _, field := range j.Header {
		name, _, ok := strings.Cut(field, ":")
		switch {
		case !ok || strings.TrimSpace(name) == "":
			return &FieldError{"header", "must be 'Name: value'"}
		case breaksLine(field):
			return &FieldError{"header", name + " contains a line break or a NUL"}
		case !httpguts.ValidHeaderFieldName(strings.TrimSpace(name)):
			return &FieldError{"header", "must be 'Name: value' with a name of one word"}
		}
	}
	for _, text := range j.Accept {
		if breaksLine(text) {
			return &FieldError{"accept", "contains a line break or a NUL"}
		}
	}
	for field, text := range map[string]string{"view": j.View, "if_changed": j.IfChanged.ETag} {
		if breaksLine(text) {
			return &FieldError{field, "contains a line break or a NUL"}
		}
	}
	return nil
}

// checkSent returns an error for a request body that cannot be sent, or that excludes other fields.
func (j *Job) checkSent() *FieldError {
	field := "data"
	if j.Data == "" && j.Upload == nil {
		field = "method"
	}
	sends := j.Data != "" || j.Upload != nil || j.Method != "" && j.Method != "GET"
	segments := j.Segments > 1 || j.Segments == download.AutoSegments
	switch {
	case strings.ContainsFunc(j.Method, func(r rune) bool { return r <= ' ' || r > '~' }):
		return &FieldError{"method", "must be one word"}
	case len(j.Data) > MaxData:
		return &FieldError{"data", fmt.Sprintf("more than %d bytes", MaxData)}
	case j.Data != "" && j.Upload != nil:
		return &FieldError{"data", "excludes Upload"}
	case sends && j.Op != fetch.OpGet:
		return &FieldError{field, "can only be sent with a get"}
	case sends && (j.Exists == download.Resume || j.Exists == download.Newer || segments):
		return &FieldError{field, "cannot be combined with resume, newer or segments"}
	}
	return nil
}

func breaksLine(s string) bool { return strings.ContainsAny(s, "\r\n\x00") }

func (j *Job) checkOutput() *FieldError {
	dir, name := j.file()
	if dir == "" && name == "" && j.Output != "" {
		return &FieldError{"output", "is neither a file nor a directory"}
	}
	for _, path := range []string{dir, name} {
		err := download.CheckName(path)
		if err != nil && fetch.CodeOf(err) != fetch.ErrFile { // the download will say so
			return &FieldError{"output", err.Error()}
		}
	}
	if _, err := j.Exists.AppendText(make([]byte, 0, 16)); err != nil {
		return &FieldError{"exists", err.Error()}
	}
	if j.Checksum != "" {
		if err := download.CheckChecksum(j.Checksum); err != nil {
			return &FieldError{"checksum", err.Error()}
		}
	}
	return nil
}

// file returns Output as Options.Dir and the name argument of a Downloader.
func (j *Job) file() (dir, name string) {
	path := strings.TrimPrefix(j.Output, "./")
	if dir, ok := strings.CutSuffix(path, "/"); ok {
		return dir, ""
	}
	return "", path
}

// namesFile reports whether Output names a file or Hooks.Writer.
func (j *Job) namesFile() bool {
	_, name := j.file()
	return name != ""
}

// Request returns the first request of the job. It fails if j is invalid.
func (j *Job) Request() (*fetch.Request, error) {
	if err := j.Validate(); err != nil {
		return nil, err
	}
	req := &fetch.Request{URL: j.URL, Op: j.Op, From: j.From, Range: j.Range, Ranges: j.Ranges,
		IfChanged: j.IfChanged, Accept: j.Accept, View: j.View, Form: j.Form, Method: j.Method}
	if len(j.Header) > 0 {
		req.Header = make(textproto.MIMEHeader, len(j.Header))
	}
	for _, field := range j.Header {
		name, value, _ := strings.Cut(field, ":")
		req.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	switch {
	case j.Upload != nil:
		if err := j.Upload(req); err != nil {
			return nil, err
		}
	case j.Data != "":
		req.ContentLength = int64(len(j.Data))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(j.Data)), nil }
		if req.Header.Get("Content-Type") == "" {
			if req.Header == nil {
				req.Header = make(textproto.MIMEHeader)
			}
			req.Header.Set("Content-Type", formType)
		}
	}
	return req, nil
}
