package guide

import (
	"context"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

func loadEcho(_ driver.Env, reg *driver.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "x-echo",
		Ops:     []fetch.Op{fetch.OpGet},
		Summary: "the text of the URL itself",
		Driver:  driver.DriverFunc(echo),
	})
}

func echo(_ context.Context, req *fetch.Request) (*driver.Response, error) {
	text, err := uri.Unescape(req.URL.Path())
	if err != nil {
		return nil, err
	}
	return &driver.Response{
		Meta: fetch.Meta{ContentType: "text/plain; charset=utf-8", Size: int64(len(text))},
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}
