package fetch

import (
	"context"
	"errors"
)

// A Fallback may serve a request that failed, such as one for a member of an archive. It is called
// with the client and the error of the exchange. It returns nil and nil if it does not serve the
// request. It may use the client, which calls it again for requests that fail.
type Fallback func(ctx context.Context, c *Client, req *Request, failed *Error) (*Response, error)

// fallback returns the response of Options.Fallback to a request that failed, or the error. Limits
// of size apply to the response; its bytes come from other exchanges, to which all limits apply.
func (c *Client) fallback(ctx context.Context, req *Request, failed error) (*Response, error) {
	e, ok := errors.AsType[*Error](failed)
	if c.opts.Fallback == nil || req.Sends() || ctx.Err() != nil || !ok {
		return nil, failed
	}
	resp, err := c.opts.Fallback(ctx, c, req, e)
	if err != nil {
		return nil, asError(req.Op.String(), req.URL, contextError(ctx, err))
	}
	if resp == nil {
		return nil, failed
	}
	if resp.URL.IsZero() {
		resp.URL = req.URL
	}
	p := &preparedRequest{req: req, original: req.URL, prov: &provenance{url: req.URL},
		scheme: Scheme{Local: true}}
	c.guard(ctx, resp, p, nil)
	return resp, nil
}
