package fetch_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestFallback(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, tt := range []struct {
		name     string
		url      string
		method   string
		policy   *fetch.Policy
		response string
		err      error
		want     string
		code     fetch.Code
		calls    int
	}{
		{name: "serves", url: "x-a:none", response: "text", want: "text", calls: 1},
		{name: "does not serve", url: "x-a:none", code: fetch.ErrNotFound, calls: 1},
		{name: "fails", url: "x-a:none", err: &fetch.Error{Code: fetch.ErrRefused, Err: boom}, code: fetch.ErrRefused, calls: 1},
		{name: "is not needed", url: "x-a:doc", response: "text", want: "doc"},
		{name: "is limited", url: "x-a:none", response: "text", policy: &fetch.Policy{MaxSize: 3}, code: fetch.ErrTooLarge, calls: 1},
		{name: "does not get a body", url: "x-a:none", method: "PUT", response: "text", code: fetch.ErrRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			opts := &fetch.Options{Policy: tt.policy, Fallback: func(_ context.Context, _ *fetch.Client, req *fetch.Request, failed *fetch.Error) (*fetch.Response, error) {
				calls++
				if failed.Code != fetch.ErrNotFound || failed.URL != req.URL.String() {
					t.Errorf("the error is %v", failed)
				}
				if tt.response == "" {
					return nil, tt.err
				}
				return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: io.NopCloser(strings.NewReader(tt.response))}, nil
			}}
			c := fetch.New(opts, fetch.Use("x-a", &fakeWeb{pages: map[string]string{"x-a:doc": "doc"}}))
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(tt.url), Method: tt.method})
			var got []byte
			if err == nil {
				if resp.URL.String() != tt.url {
					t.Errorf("the URL is %s", resp.URL)
				}
				got, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if fetch.CodeOf(err) != tt.code || tt.code == "" && string(got) != tt.want || calls != tt.calls {
				t.Errorf("%q, %v after %d calls", got, err, calls)
			}
		})
	}
}
