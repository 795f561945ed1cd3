package fetch

import (
	"context"
	"errors"
)

func checkRange(r Range) error {
	if r.Length < 0 || r.Offset < 0 && r.Length != 0 {
		return ErrRange.Errorf("invalid range: %d bytes at offset %d", r.Length, r.Offset)
	}
	return nil
}

// withRange returns p with a range that its driver supports. A range relative to the end is converted
// if the size can be determined. Otherwise it is dropped and the whole resource is returned.
func (c *Client) withRange(ctx context.Context, p *preparedRequest) (*preparedRequest, error) {
	r := p.req.Range
	if err := checkRange(r); err != nil {
		return nil, err
	}
	byHTTP := p.scheme.RangeSets || p.prov.proxy.forward
	if len(p.req.Ranges) > 0 {
		return p, checkRanges(p.req, byHTTP)
	}
	if r.Offset >= 0 || byHTTP {
		return p, nil
	}
	q, req := *p, *p.req
	q.req, req.Range = &req, Range{}
	if p.req.Op != OpGet || !p.scheme.Ranges || !p.scheme.Can(OpStat) {
		return &q, nil
	}
	size, err := c.size(ctx, &q)
	if err == nil && size >= 0 {
		req.Range = r.Of(size)
	}
	return &q, err
}

// size returns the size of the resource of p, or -1 if it cannot be determined.
func (c *Client) size(ctx context.Context, p *preparedRequest) (int64, error) {
	q, req := *p, *p.req
	q.req, req.Op, req.IfChanged = &req, OpStat, Validator{}
	resp, rec, err := c.begin(ctx, &q)
	if err != nil {
		rec.end(err)
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
		return -1, err
	}
	rec.response(resp)
	resp.Body.Close()
	rec.end(nil)
	if len(resp.Location) > 0 {
		return -1, nil // the request itself will be redirected again
	}
	return resp.Size, nil
}

func checkRanges(r *Request, supported bool) error {
	if !supported {
		return ErrRange.Errorf("%s does not support several ranges in one request: %w", r.URL.Scheme(),
			errors.ErrUnsupported)
	}
	if !r.Range.IsZero() {
		return ErrRange.Errorf("Range and Ranges are both set")
	}
	for _, one := range r.Ranges {
		if err := checkRange(one); err != nil {
			return err
		}
	}
	return nil
}
