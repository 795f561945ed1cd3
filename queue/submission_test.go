package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

const id = "0123456789abcdef0123456789abcdef"

func TestDecodeRefusesWhatIsNoJob(t *testing.T) {
	t.Parallel()
	good := `{"v":1,"id":"` + id + `","time":"2026-03-04T05:06:07Z","job":{"url":"http://h/x"}}`
	s, err := queue.Decode([]byte(good))
	if err != nil || s.ID != id || s.Job.URL.String() != "http://h/x" {
		t.Fatalf("%+v, %v", s, err)
	}
	for text, want := range map[string]string{
		``:                                     "no job of a queue",
		`{}`:                                   "version 0",
		`[]`:                                   "no job of a queue",
		good[:40]:                              "no job of a queue",
		good + good:                            "more than one job",
		strings.Replace(good, `:1`, `:2`, 1):   "version 2",
		strings.Replace(good, id, "x", 1):      "ID of 32",
		strings.Replace(good, id, id+"00", 1):  "ID of 32",
		strings.Replace(good, "v", "w", 1):     "unknown field",
		strings.Replace(good, "http:", "", 1):  "no scheme",
		strings.Replace(good, "h/x", `\nx`, 1): "malformed",
		strings.Repeat(" ", queue.MaxSubmission) + good:             "more than 1048576 bytes",
		strings.Replace(good, `x"`, `x","output":"/etc/x"`, 1):      "output",
		strings.Replace(good, `x"`, `x","output":"x"`, 1):           "output",
		strings.Replace(good, `x"`, `x","from":"http://h/"`, 1):     "from",
		strings.Replace(good, `x"`, `x","op":"list"`, 1):            "op",
		strings.Replace(good, `x"`, `x","header":["a: b\r\nc"]`, 1): "line break",
		strings.Replace(good, `x"`, `x","segments":3`, 1):           "no file",
		strings.Replace(good, `x"`, `x","exists":"resume"`, 1):      "no file",
		strings.Replace(good, `x"`, `x","depth":1`, 1):              "for workers",
	} {
		s, err := queue.Decode([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: %+v, error %v, want one with %q", text, s, err, want)
		}
		if code := fetch.CodeOf(err); code != fetch.ErrRequest && code != fetch.ErrURL {
			t.Errorf("%.200s: class %q", text, code)
		}
	}
}

func TestEncodeRefusesWhatDecodeDoes(t *testing.T) {
	t.Parallel()
	u := uri.MustParse("http://joe:secret@h/x")
	for _, j := range []*job.Job{
		{URL: u, Output: "x"}, {URL: u, Op: fetch.OpList}, {URL: u, Exists: download.Skip}, {URL: u, From: u}, {},
		{URL: uri.MustParse("data:," + strings.Repeat("x", 1<<20))},
	} {
		if _, err := queue.NewSubmission(j).Encode(1 << 20); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: error %v", j, err)
		}
	}
	data, err := queue.NewSubmission(&job.Job{URL: u, Header: []string{"A: b"}}).Encode(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := queue.Decode(data); err != nil || s.Job.URL.String() != u.String() || s.Job.Header[0] != "A: b" {
		t.Errorf("%s became %+v, %v", data, s, err)
	}
}

func TestKeysAreOfWhatComes(t *testing.T) {
	t.Parallel()
	key := func(j job.Job, url string) string {
		j.URL = uri.MustParse(url)
		return queue.Key(&j)
	}
	same := key(job.Job{}, "http://h/x")
	for _, k := range []string{key(job.Job{}, "HTTP://H:80/x"), key(job.Job{}, "http://h/%78#part")} {
		if k != same {
			t.Error("two ways to write a URL are two jobs")
		}
	}
	for _, k := range []string{key(job.Job{}, "https://h/x"), key(job.Job{}, "http://h/X"), key(job.Job{Header: []string{"Accept-Language: de"}}, "http://h/x"),
		key(job.Job{Data: "x"}, "http://h/x")} {
		if k == same {
			t.Error("two jobs are one")
		}
	}
}

func TestDirKeepsContentsOnce(t *testing.T) {
	t.Parallel()
	dir, err := queue.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	sum := "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for range 2 {
		s, err := dir.Begin()
		if err != nil {
			t.Fatal(err)
		}
		s.Write([]byte("te"))
		s.Write([]byte("st"))
		path, err := s.Commit(t.Context(), sum)
		if err != nil || path != "sha256/9f/"+sum {
			t.Errorf("%q, %v", path, err)
		}
		s.Discard()
	}
	s, err := dir.Begin()
	if err != nil {
		t.Fatal(err)
	}
	s.Write([]byte("half"))
	s.Discard()
	if _, err := s.Commit(t.Context(), "../../../x"); err == nil {
		t.Error("what is no digest was taken for one")
	}
	files, err := dir.List()
	if err != nil || len(files) != 1 || files[0] != "sha256/9f/"+sum {
		t.Errorf("there are %v, %v", files, err)
	}
}

// silent is an engine of which the first answers to a submission are lost, or that refuses it.
type silent struct {
	queue.Engine
	lost  int
	err   error
	calls int
}

func (s *silent) Submit(ctx context.Context, p queue.Priority, key string, data []byte) (bool, error) {
	s.calls++
	if s.err != nil {
		return false, s.err
	}
	duplicate, err := s.Engine.Submit(ctx, p, key, data)
	if s.calls <= s.lost {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return duplicate, err
}

func TestASubmissionIsTriedAgainWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	down := &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: errors.New("down")}
	full := &fetch.Error{Code: fetch.ErrServer, Retry: true, Err: fmt.Errorf("no: %w", queue.ErrFull)}
	seed := uri.MustParse("http://h/")
	kinds := map[string]func(context.Context, queue.Engine) (bool, error){
		"a job": func(ctx context.Context, e queue.Engine) (bool, error) {
			_, duplicate, err := queue.Submit(ctx, e, queue.Normal, &job.Job{URL: seed})
			return duplicate, err
		},
		"a page": func(ctx context.Context, e queue.Engine) (bool, error) {
			return (&queue.Crawl{Token: "t"}).Submit(ctx, e, queue.Normal, seed, fetch.Traits{})
		},
	}
	for name, tt := range map[string]struct {
		silent
		want  error
		calls func(int) bool
	}{
		"answered":  {silent{}, nil, func(n int) bool { return n == 1 }},
		"lost once": {silent{lost: 2}, nil, func(n int) bool { return n == 3 }},
		"down":      {silent{err: down}, down, func(n int) bool { return n > 10 && n < 100 }},
		"full":      {silent{err: full}, queue.ErrFull, func(n int) bool { return n == 1 }},
		"refused":   {silent{err: &fetch.Error{Code: fetch.ErrAuth}}, &fetch.Error{Code: fetch.ErrAuth}, func(n int) bool { return n == 1 }},
	} {
		for kind, submit := range kinds {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					e := tt.silent
					e.Engine = queuetest.NewModel(queuetest.Options{Limits: queue.Limits{Message: 1 << 20}, Window: time.Hour}).Connect("a")
					begun := time.Now()
					duplicate, err := submit(t.Context(), &e)
					if !errors.Is(err, tt.want) && fetch.CodeOf(err) != fetch.CodeOf(tt.want) || duplicate || !tt.calls(e.calls) {
						t.Errorf("duplicate %v, %v after %d calls", duplicate, err, e.calls)
					}
					if took := time.Since(begun); took > 50*time.Second {
						t.Errorf("it took %v", took)
					}
				})
			})
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"` + id + `","time":"2026-03-04T05:06:07Z","job":{"url":"http://h/x"}}`))
	f.Add([]byte(`{"v":1,"id":"` + id + `","time":"2026-03-04T05:06:07Z","job":{"url":"gopher://h:70/0x","header":["A: b"],"accept":["text/plain"]}}`))
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := queue.Decode(data)
		if err != nil {
			var wrong *fetch.Error
			if !errors.As(err, &wrong) || strings.ContainsAny(err.Error(), "\r\n\x00") {
				t.Fatalf("error %q", err)
			}
			return
		}
		again, err := s.Encode(queue.MaxSubmission)
		if err != nil {
			if len(data) < queue.MaxSubmission/8 {
				t.Fatalf("%s is a job that cannot be written: %v", data, err)
			}
			return
		}
		back, err := queue.Decode(again)
		if err != nil {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
		if third, err := back.Encode(queue.MaxSubmission); err != nil || !bytes.Equal(again, third) || queue.Key(s.Job) != queue.Key(back.Job) {
			t.Fatalf("%s became %s and %s, %v", data, again, third, err)
		}
	})
}
