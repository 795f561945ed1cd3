package http

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
)

// trailerReader is the body of net/http for a trailer that does not end: its error does not tell
// whether the trailer was too long, or the connection timed out.
type trailerReader struct{ after time.Duration }

func (r trailerReader) Read([]byte) (int, error) {
	time.Sleep(r.after)
	return 0, errors.New("http: suspiciously long trailer after chunked body")
}

func (trailerReader) Close() error { return nil }

// A trailer that stalls is not the end of the body, even if the timeout of the connection expires
// before that of the body.
func TestStalledTrailerIsNotTheEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		idle, after time.Duration
		code        fetch.Code
	}{
		"long":               {time.Minute, 0, fetch.ErrTruncated},
		"stalled":            {time.Minute, time.Minute, fetch.ErrNetwork},
		"long, no timeout":   {0, 0, fetch.ErrTruncated},
		"slow, but not idle": {time.Minute, time.Minute - 1, fetch.ErrTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ex := &exchange{ctx: t.Context(), cancel: func(error) {}, target: &target{method: http.MethodGet}}
				b := &responseBody{ex: ex, src: trailerReader{tt.after}, idle: tt.idle}
				if tt.idle > 0 {
					b.timer = time.AfterFunc(tt.idle, b.expire)
				}
				_, err := b.Read(make([]byte, 9))
				var e *fetch.Error
				if errors.As(err, &e); tt.code == "" && err != io.EOF || tt.code != "" && (e == nil || e.Code != tt.code) {
					t.Errorf("%v, want class %q", err, tt.code)
				}
			})
		})
	}
}
