package fetch

import (
	"context"
	"io"
)

// ReadAll returns the content of the resource at rawURL. If the content is longer than limit bytes,
// ReadAll stops reading and returns ErrTooLarge. A limit of 0 means no limit except that of the
// policy. If err is not nil, no content is returned.
func (c *Client) ReadAll(ctx context.Context, rawURL string, limit int64) ([]byte, error) {
	resp, err := c.Get(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if b, ok := resp.Body.(*guardedBody); ok && limit > 0 {
		b.restrict(limit)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return data, nil
}
