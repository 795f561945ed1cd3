package guide

import (
	"context"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func loadEcho(_ fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "x-echo",
		Ops:     []fetch.Op{fetch.OpGet},
		Summary: "the text of the URL itself",
		Driver:  fetch.DriverFunc(echo),
	})
}

func echo(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	text, err := uri.Unescape(req.URL.Path())
	if err != nil {
		return nil, err
	}
	return &fetch.Response{
		Meta: fetch.Meta{ContentType: "text/plain; charset=utf-8", Size: int64(len(text))},
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}
