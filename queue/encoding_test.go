package queue

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

const id = "0123456789abcdef0123456789abcdef"

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	good := `{"v":1,"id":"` + id + `","time":"2026-03-04T05:06:07Z","job":{"url":"http://h/x"}}`
	s, err := decode([]byte(good))
	if err != nil || s.ID != id || s.Job.URL.String() != "http://h/x" {
		t.Fatalf("%+v, %v", s, err)
	}
	for text, want := range map[string]string{
		``:                                     "invalid job",
		`{}`:                                   "version 0",
		`[]`:                                   "invalid job",
		good[:40]:                              "invalid job",
		good + good:                            "more than one job",
		strings.Replace(good, `:1`, `:2`, 1):   "version 2",
		strings.Replace(good, id, "x", 1):      "not 32 hexadecimal digits",
		strings.Replace(good, id, id+"00", 1):  "not 32 hexadecimal digits",
		strings.Replace(good, "v", "w", 1):     "unknown field",
		strings.Replace(good, "http:", "", 1):  "no scheme",
		strings.Replace(good, "h/x", `\nx`, 1): "malformed",
		strings.Repeat(" ", maxSubmission) + good:                                            "more than 1048576 bytes",
		strings.Replace(good, `x"`, `x","output":"/etc/x"`, 1):                               "output",
		strings.Replace(good, `x"`, `x","output":"x"`, 1):                                    "output",
		strings.Replace(good, `x"`, `x","from":"http://h/"`, 1):                              "from",
		strings.Replace(good, `x"`, `x","op":"list"`, 1):                                     "op",
		strings.Replace(good, `x"`, `x","header":["a: b\r\nc"]`, 1):                          "line break",
		strings.Replace(good, `{"v"`, `{"last":"x","v"`, 1):                                  "earlier submission",
		strings.Replace(good, `{"v"`, `{"last":"`+id+`","page":{"seed":"http://h/"},"v"`, 1): "earlier submission",
		strings.Replace(good, `x"`, `x","segments":3`, 1):                                    "no file",
		strings.Replace(good, `x"`, `x","exists":"resume"`, 1):                               "no file",
		strings.Replace(good, `x"`, `x","depth":1`, 1):                                       "set by workers",
	} {
		s, err := decode([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: %+v, error %v, want one with %q", text, s, err, want)
		}
		if code := fetch.CodeOf(err); code != fetch.ErrRequest && code != fetch.ErrURL {
			t.Errorf("%.200s: class %q", text, code)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	t.Parallel()
	u := uri.MustParse("http://joe:secret@h/x")
	for want, j := range map[string]*job.Job{
		"output":               {URL: u, Output: "x"},
		"op":                   {URL: u, Op: fetch.OpList},
		"no file":              {URL: u, Exists: download.Skip},
		"set by workers":       {URL: u, From: u},
		"no scheme":            {},
		"the limit is 1048576": {URL: uri.MustParse("data:," + strings.Repeat("x", 1<<20))},
	} {
		_, err := newSubmission(j).encode(1 << 20)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.100v: error %v, want one with %q and without the password", j, err, want)
		}
	}
	data, err := newSubmission(&job.Job{URL: u, Header: []string{"A: b"}}).encode(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := decode(data); err != nil || s.Job.URL.String() != u.String() || s.Job.Header[0] != "A: b" {
		t.Errorf("%s became %+v, %v", data, s, err)
	}
}

func TestJobKey(t *testing.T) {
	t.Parallel()
	key := func(j job.Job, url string) string {
		j.URL = uri.MustParse(url)
		return Key(&j)
	}
	same := key(job.Job{}, "http://h/x")
	for _, k := range []string{key(job.Job{}, "HTTP://H:80/x"), key(job.Job{}, "http://h/%78#part")} {
		if k != same {
			t.Error("equivalent URLs have different keys")
		}
	}
	for _, k := range []string{key(job.Job{}, "https://h/x"), key(job.Job{}, "http://h/X"), key(job.Job{Header: []string{"Accept-Language: de"}}, "http://h/x"),
		key(job.Job{Data: "x"}, "http://h/x")} {
		if k == same {
			t.Error("different jobs have the same key")
		}
	}
}

// Keys are in the results of earlier versions.
func TestJobKeysStay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		job  job.Job
		want string
	}{
		{job.Job{}, "3d665f2dd190e28c7baadbed9fb83bf64bedf0d2"},
		{job.Job{Op: fetch.OpStat}, "c727a23a7ffe4ce2b3d94c76e8c546dc77dbc6cc"},
		{job.Job{Data: "x"}, "318a2155543037a23c030e6316e08f5e19848dfd"},
	} {
		tt.job.URL = uri.MustParse("http://h/x")
		if got := Key(&tt.job); got != tt.want {
			t.Errorf("%+v: key %s, want %s", tt.job, got, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"` + id + `","time":"2026-03-04T05:06:07Z","job":{"url":"http://h/x"}}`))
	f.Add([]byte(`{"v":1,"id":"` + id + `","time":"2026-03-04T05:06:07Z","job":{"url":"gopher://h:70/0x","header":["A: b"],"accept":["text/plain"]}}`))
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decode(data)
		if err != nil {
			var fetchErr *fetch.Error
			if !errors.As(err, &fetchErr) || strings.ContainsAny(err.Error(), "\r\n\x00") {
				t.Fatalf("error %q", err)
			}
			return
		}
		reencoded, err := s.encode(maxSubmission)
		if err != nil {
			if len(data) < maxSubmission/8 {
				t.Fatalf("%s decodes, but does not encode: %v", data, err)
			}
			return
		}
		redecoded, err := decode(reencoded)
		if err != nil {
			t.Fatalf("%s became %s: %v", data, reencoded, err)
		}
		if reencodedAgain, err := redecoded.encode(maxSubmission); err != nil || !bytes.Equal(reencoded, reencodedAgain) || Key(s.Job) != Key(redecoded.Job) {
			t.Fatalf("%s became %s and %s, %v", data, reencoded, reencodedAgain, err)
		}
	})
}
