package download_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// A throttle is a driver for one resource. Each connection, or all connections together, deliver one
// block per interval.
type throttle struct {
	content  []byte
	together bool          // all connections share the rate
	each     time.Duration // interval between blocks

	mu   sync.Mutex
	most int // maximum number of concurrent connections
	now  int
	due  time.Time // time of the next block if together is set
}

const throttled = 16 << 10 // block size in bytes

func (d *throttle) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	size := int64(len(d.content))
	resp := &fetch.Response{Meta: fetch.Meta{Size: size, Validator: fetch.Validator{ETag: `"1"`}}}
	body := d.content
	if !req.Range.IsZero() {
		asked := req.Range.Of(size)
		resp.Range, resp.Size, resp.Total = asked, asked.Length, size
		body = body[asked.Offset:][:asked.Length]
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now++
	d.most = max(d.most, d.now)
	resp.Body = fetch.OnClose(io.NopCloser(&throttledReader{d, bytes.NewReader(body)}), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.now--
	})
	return resp, nil
}

type throttledReader struct {
	d *throttle
	r *bytes.Reader
}

func (r *throttledReader) Read(p []byte) (int, error) {
	d := r.d
	wait := d.each
	if d.together {
		d.mu.Lock()
		now := time.Now()
		if d.due.Before(now) {
			d.due = now
		}
		d.due = d.due.Add(d.each)
		wait = d.due.Sub(now)
		d.mu.Unlock()
	}
	time.Sleep(wait)
	return r.r.Read(p[:min(len(p), throttled)])
}

// AutoSegments adds connections as long as they increase the rate.
func TestAutoSegments(t *testing.T) {
	t.Parallel()
	content := pattern(20<<20, 1)
	const perSecond = time.Second / 64 // 1 MiB per second
	for _, tt := range []struct {
		name        string
		driver      *throttle
		least, most int           // connections
		within      time.Duration // maximum simulated duration
	}{
		{"each connection is slow", &throttle{each: perSecond}, 8, 16, 6 * time.Second},
		{"all together are slow", &throttle{each: perSecond, together: true}, 2, 2, 21 * time.Second},
		{"it is soon there", &throttle{each: perSecond / 100}, 1, 1, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				d := tt.driver
				d.content = content
				client := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
					reg.Register(fetch.Scheme{Name: "x-slow", Ops: []fetch.Op{fetch.OpGet}, Ranges: true, Driver: d})
				})
				defer client.Close()
				root, err := os.OpenRoot(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer root.Close()
				l := &download.Downloader{Client: client, Root: root}
				begun := time.Now()
				var last int64
				r, err := l.Get(t.Context(), "x-slow://host/file", "", &download.Options{Segments: download.AutoSegments,
					Progress: func(done, _ int64) { last = done }})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); d.most < tt.least || d.most > tt.most || took > tt.within {
					t.Errorf("%d connections at once, want %d to %d; it took %v", d.most, tt.least, tt.most, took)
				}
				if size := int64(len(content)); r.Size != size || last != size || contents(t, dir)["file"] != string(content) {
					t.Errorf("result %+v, progress to %d, or content wrong", r, last)
				}
			})
		})
	}
}
