package job_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// The files in testdata are a contract: stored jobs and results must stay readable. The files may
// gain fields but not change otherwise.
var records = map[string]any{
	"job.json": &job.Job{
		URL:       uri.MustParse("https://joe:secret@host.example/a%20b?q#f"),
		From:      uri.MustParse("https://host.example/"),
		Depth:     2,
		Attempt:   3,
		Header:    []string{"Accept-Language: de", "X-A: 1", "X-A: 2"},
		Accept:    []string{"text/html", "*/*"},
		View:      "text/html",
		Form:      map[string][]string{"Name": {"Joe"}, "Story": {"once", "upon"}},
		Range:     fetch.Range{Offset: 5, Length: 10},
		IfChanged: fetch.Validator{ETag: `"e"`, ModTime: day},
		Output:    "dir/name",
		Exists:    download.Overwrite,
		Known:     &download.Known{Size: 5, Validator: fetch.Validator{ETag: "x", ModTime: day}},
		Checksum:  "md5:781e5e245d69b566979b86e28d23f2c7",
		Segments:  4,
	},
	"job_post.json":  &job.Job{URL: uri.MustParse("https://host.example/"), Method: "PUT", Data: "a=b&c=d", Output: "-"},
	"job_least.json": &job.Job{URL: uri.MustParse("gopher://host.example/1/")},
	"job_list.json":  &job.Job{URL: uri.MustParse("ftp://host.example/pub/"), Op: fetch.OpList, Known: &download.Known{Size: -1}},
	"result_saved.json": &job.Result{
		URL: "https://joe:xxxxx@host.example/a", From: "https://host.example/", Depth: 2, Attempt: 3,
		Outcome: job.Saved, Started: day, Elapsed: 1500 * time.Millisecond,
		FinalURL: "https://host.example/b", Kind: "object", ContentType: "text/plain", ETag: `"e"`, ModTime: day, Status: 200, Reply: "200 OK",
		Path: "dir/name", Size: 5, Received: 4, SHA256: "00",
		Proof: &fetch.Digest{Algorithm: "crc32", Sum: []byte{0, 1, 2, 255}, By: "x-amz-checksum-crc32"},
	},
	"result_empty.json":  &job.Result{URL: "data:,", Outcome: job.Saved, Path: "index"},
	"result_listed.json": &job.Result{URL: "ftp://host.example/", Op: fetch.OpList, Outcome: job.Listed, Kind: "listing", Size: -1, Entries: 3},
	"result_failed.json": &job.Result{
		URL: "http://host.example:25/", Outcome: job.Failed, Size: -1, Status: 503, Reply: "503 busy",
		Class: fetch.ErrBusy, Message: "server busy (503 busy)", Hint: "come back later", Retry: true, RetryAfter: 90 * time.Second,
		Reason: fetch.Reason{Kind: fetch.ReasonPort, Port: 25, Scheme: "http", Host: "host.example", Question: "Name"},
	},
}

func TestJSON(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) != len(records) {
		t.Errorf("%d files for %d records, %v", len(names), len(records), err)
	}
	for name, v := range records {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if string(got) != want.String() {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want.String())
		}
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := json.Unmarshal(text, back); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%s: %+v, %v", name, back, err)
		}
		if _, ok := v.(*job.Job); ok {
			if j, err := job.Decode(text); err != nil || !reflect.DeepEqual(j, v) {
				t.Errorf("%s: %+v, %v", name, j, err)
			}
		}
	}
}

// Fields of later versions are ignored.
func TestJSONOfLaterVersions(t *testing.T) {
	t.Parallel()
	later := func(text string) []byte { return []byte(`{"new": {"a": [1]}, "output": "x",` + text[1:]) }
	if j, err := job.Decode(later(`{"url": "data:,x", "newer": null}`)); err != nil || j.URL.String() != "data:,x" || j.Output != "x" {
		t.Errorf("%+v, %v", j, err)
	}
	var r job.Result
	if err := json.Unmarshal(later(`{"url": "data:,x", "outcome": "improved", "class": "odd", "reason": {"kind": "odd"}}`), &r); err != nil ||
		r.Outcome != "improved" || r.Class != "odd" || r.Reason.Kind != "odd" || r.Size != -1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text  string
		code  fetch.Code
		field string
	}{
		{``, fetch.ErrRequest, ""},
		{`[]`, fetch.ErrRequest, ""},
		{`{"url": "data:,x"} {}`, fetch.ErrRequest, ""},
		{`{"url": 5}`, fetch.ErrRequest, ""},
		{`{}`, fetch.ErrURL, ""},
		{`{"url": ""}`, fetch.ErrURL, ""},
		{`{"url": "relative"}`, fetch.ErrURL, ""},
		{`{"url": "http://joe:hunter2@h:99999/"}`, fetch.ErrURL, ""},
		{`{"url": "http://h/a\nb"}`, fetch.ErrURL, ""},
		{`{"url": "data:,x", "from": "a b"}`, fetch.ErrURL, ""},
		{`{"url": "data:,x", "op": "put"}`, fetch.ErrRequest, ""},
		{`{"url": "data:,x", "op": "dial"}`, fetch.ErrRequest, "op"},
		{`{"url": "data:,x", "depth": -1}`, fetch.ErrRequest, "depth"},
		{`{"url": "data:,x", "attempt": -1}`, fetch.ErrRequest, "attempt"},
		{`{"url": "data:,x", "segments": -2}`, fetch.ErrRequest, "segments"},
		{`{"url": "data:,x", "segments": 100000}`, fetch.ErrRequest, "segments"},
		{`{"url": "data:,x", "header": ["hunter2"]}`, fetch.ErrRequest, "header"},
		{`{"url": "data:,x", "header": [": hunter2"]}`, fetch.ErrRequest, "header"},
		{`{"url": "data:,x", "header": ["A: hunter2\nB: x"]}`, fetch.ErrRequest, "header"},
		{`{"url": "data:,x", "header": ["A\r: x"]}`, fetch.ErrRequest, "header"},
		{`{"url": "data:,x", "header": ["hunter2 hunter2: x"]}`, fetch.ErrRequest, "header"},
		{`{"url": "data:,x", "accept": ["text/html\u0000"]}`, fetch.ErrRequest, "accept"},
		{`{"url": "data:,x", "view": "text/html\n"}`, fetch.ErrRequest, "view"},
		{`{"url": "data:,x", "if_changed": {"etag": "a\nb"}}`, fetch.ErrRequest, "if_changed"},
		{`{"url": "data:,x", "range": {"offset": -1, "length": 1}}`, fetch.ErrRequest, "range"},
		{`{"url": "data:,x", "range": {"length": -1}}`, fetch.ErrRequest, "range"},
		{`{"url": "data:,x", "range": {"offset": 9223372036854775807, "length": 1}}`, fetch.ErrRequest, "range"},
		{`{"url": "data:,x", "range": {"offset": 1}, "op": "list"}`, fetch.ErrRequest, "range"},
		{`{"url": "data:,x", "range": {"offset": 1}, "exists": "resume"}`, fetch.ErrRequest, "range"},
		{`{"url": "data:,x", "known": {"size": -2}}`, fetch.ErrRequest, "known"},
		{`{"url": "data:,x", "exists": "perhaps"}`, fetch.ErrRequest, ""},
		{`{"url": "data:,x", "output": "/etc/passwd"}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "output": "../x"}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "output": "a/../x"}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "output": ".."}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "output": "../"}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "output": "/"}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "output": "./"}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "output": ".//x"}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "output": "a//"}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "output": "a\u0000"}`, fetch.ErrRequest, "output"},
		{`{"url": "data:,x", "method": "PUT hunter2"}`, fetch.ErrRequest, "method"},
		{`{"url": "data:,x", "method": "PUT\nX"}`, fetch.ErrRequest, "method"},
		{`{"url": "data:,x", "method": "PUT", "op": "stat"}`, fetch.ErrRequest, "method"},
		{`{"url": "data:,x", "data": "hunter2", "op": "stat"}`, fetch.ErrRequest, "data"},
		{`{"url": "data:,x", "data": "hunter2", "exists": "resume"}`, fetch.ErrRequest, "data"},
		{`{"url": "data:,x", "data": "hunter2", "exists": "newer"}`, fetch.ErrRequest, "data"},
		{`{"url": "data:,x", "data": "hunter2", "segments": 2}`, fetch.ErrRequest, "data"},
		{`{"url": "data:,x", "data": "` + strings.Repeat("x", job.MaxData+1) + `"}`, fetch.ErrRequest, "data"},
		{`{"url": "data:,x", "checksum": "rot13:00"}`, fetch.ErrRequest, "checksum"},
	}
	for _, tt := range tests {
		j, err := job.Decode([]byte(tt.text))
		var wrong *job.FieldError
		if errors.As(err, &wrong); fetch.CodeOf(err) != tt.code || (wrong != nil) != (tt.field != "") || wrong != nil && wrong.Field != tt.field {
			t.Errorf("%.80s: %+v, %v", tt.text, j, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: a secret in %v", tt.text, err)
		}
	}
	// It is refused before it is read, which takes the memory.
	if _, err := job.Decode(make([]byte, 65<<20)); fetch.CodeOf(err) != fetch.ErrRequest || !strings.Contains(err.Error(), "a job of more than") {
		t.Errorf("65 MiB: %v", err)
	}
}

// Values that JSON cannot represent are errors.
func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		job  job.Job
		want string
	}{
		{job.Job{Form: map[string][]string{"File": {"\xff"}}}, "form is not valid UTF-8"},
		{job.Job{Form: map[string][]string{"\xff": nil}}, "form is not valid UTF-8"},
		{job.Job{Header: []string{"A: \xff"}}, "header is not valid UTF-8"},
		{job.Job{Accept: []string{"\xff"}}, "accept is not valid UTF-8"},
		{job.Job{View: "\xff"}, "view is not valid UTF-8"},
		{job.Job{Data: "\xff"}, "data is not valid UTF-8"},
		{job.Job{Upload: func(*fetch.Request) error { return nil }}, "an upload cannot be encoded as JSON"},
		{job.Job{Output: "\xff"}, "output is not valid UTF-8"},
		{job.Job{IfChanged: fetch.Validator{ETag: "\xff"}}, "if_changed is not valid UTF-8"},
		{job.Job{Known: &download.Known{Validator: fetch.Validator{ETag: "\xff"}}}, "known is not valid UTF-8"},
	} {
		tt.job.URL = uri.MustParse("data:,x")
		if text, err := json.Marshal(tt.job); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s, %v", text, err)
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	j := *records["job.json"].(*job.Job)
	req, err := j.Request()
	if err != nil {
		t.Fatal(err)
	}
	if req.URL != j.URL || req.From != j.From || req.Op != j.Op || req.Range != j.Range || req.IfChanged != j.IfChanged ||
		!reflect.DeepEqual(req.Accept, j.Accept) || req.View != j.View || !reflect.DeepEqual(req.Form, j.Form) ||
		!reflect.DeepEqual(map[string][]string(req.Header), map[string][]string{"Accept-Language": {"de"}, "X-A": {"1", "2"}}) {
		t.Errorf("%+v", *req)
	}
	if req.Method != "" || req.GetBody != nil {
		t.Errorf("something is sent: %+v", *req)
	}
	j = job.Job{URL: j.URL, Data: "a=b"}
	for _, want := range []string{"application/x-www-form-urlencoded", "text/x"} {
		req, err := j.Request()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			body, err := req.GetBody()
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := io.ReadAll(body); string(text) != "a=b" || req.ContentLength != 3 || req.Header.Get("Content-Type") != want {
				t.Errorf("%q of %d bytes, %v", text, req.ContentLength, req.Header)
			}
		}
		j.Header = []string{"content-type: text/x"}
	}
	if req, err := (&job.Job{}).Request(); !strings.Contains(fmt.Sprint(err), "the URL has no scheme") {
		t.Errorf("%+v, %v", req, err)
	}
}

// FuzzDecode decodes untrusted jobs. An accepted job is the same after encoding, its header fields
// contain no line breaks, and its output is inside the directory.
func FuzzDecode(f *testing.F) {
	names, err := filepath.Glob("testdata/job*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"url": "x:", "method": "PUT", "data": "\u0000"}`))
	f.Add([]byte(`{"url": "x:", "header": ["A:b\n"], "output": "./../x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := job.Decode(data)
		if err != nil {
			if code := fetch.CodeOf(err); code != fetch.ErrURL && code != fetch.ErrRequest {
				t.Errorf("class %q of %v", string(code), err)
			}
			return
		}
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		again, err := job.Decode(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if text2, err := json.Marshal(again); err != nil || !bytes.Equal(text, text2) {
			t.Errorf("%s became %s, %v", text, text2, err)
		}
		req, err := j.Request()
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range req.Header {
			if line := name + strings.Join(values, ""); strings.ContainsAny(line, "\r\n\x00") {
				t.Errorf("field %q", line)
			}
		}
		if path := strings.TrimSuffix(j.Output, "/"); path != "" && !filepath.IsLocal(path) {
			t.Errorf("output %q", j.Output)
		}
	})
}
