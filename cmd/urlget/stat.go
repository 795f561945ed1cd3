package main

import (
	"context"
	"errors"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
)

// stat prints what is known of a resource without its content.
func (a *app) stat(ctx context.Context, j *job) error {
	req, err := a.set.request(j.url, fetch.OpStat)
	if err != nil {
		return err
	}
	resp, err := a.client.Do(ctx, req)
	if errors.Is(err, errors.ErrUnsupported) {
		req.Op = fetch.OpGet
		resp, err = a.client.Do(ctx, req)
	}
	if err != nil {
		return err
	}
	resp.Body.Close()
	if a.set.json {
		return fileError(render.MetaJSON(a.std.out, resp.URL.Redacted(), &resp.Meta))
	}
	return fileError(render.MetaText(a.std.out, resp.URL.Redacted(), &resp.Meta, a.set.verbose))
}
