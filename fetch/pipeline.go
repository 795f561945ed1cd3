package fetch

import (
	"context"
	"iter"
	"sync"

	"github.com/urlget/urlget/fetch/driver"
)

// DoAll performs requests one after the other and yields the response, or the error, of each. It
// closes Response.Body when the loop goes on. Requests that follow one another to the same server
// travel together where the protocol knows pipelining (Scheme.Pipelined), so that a distant server
// costs a round trip for many of them, not one for each. An error is that of one request; the
// others are not affected.
func (c *Client) DoAll(ctx context.Context, reqs []*Request) iter.Seq2[*Response, error] {
	return func(yield func(*Response, error) bool) {
		at := 0
		ctx, end := c.Pipeline(ctx, func() []*Request { return reqs[at+1:] })
		defer end()
		one := func(req *Request) bool {
			resp, err := c.Do(ctx, req)
			if err == nil {
				defer resp.Body.Close()
			}
			return yield(resp, err)
		}
		for at = range reqs {
			if !one(reqs[at]) {
				return
			}
		}
	}
}

// Pipeline returns a context for requests that are made one after the other: each ends, with its
// body closed, before the next begins. While one is under way, next returns those that will follow
// it, as far as they are known, so that drivers can send them ahead (see DoAll). That is only a
// hint: a request that is never made, or another one, is no error, and what becomes of a request
// that was sent ahead is told to nobody but whoever makes it. End must be called after the last.
//
// While a recorder wants what is sent and received, nothing is sent ahead, since it would be
// recorded with another exchange.
func (c *Client) Pipeline(ctx context.Context, next func() []*Request) (_ context.Context, end func()) {
	p := &pipeline{client: c, next: next}
	return context.WithValue(ctx, pipelineKey{}, p), p.end
}

type pipelineKey struct{}

// A pipeline is the driver.Pipeline of a context.
type pipeline struct {
	client *Client
	next   func() []*Request

	mu    sync.Mutex
	kept  any
	drop  func()
	ended bool
}

// Pipeline implements driver.Env.
func (e *env) Pipeline(ctx context.Context) driver.Pipeline {
	p, _ := ctx.Value(pipelineKey{}).(*pipeline)
	if p == nil || p.client != e.client {
		return nil
	}
	return p
}

// Next implements driver.Pipeline.
func (p *pipeline) Next(ctx context.Context) []*Request {
	if rec := provenanceOf(ctx).recording; rec != nil && (rec.Sent != nil || rec.Received != nil || rec.Line != nil) {
		return nil
	}
	env := &env{client: p.client}
	scope := env.Scope(ctx)
	var all []*Request
	for _, req := range p.next() {
		if !isPlain(req) {
			break
		}
		prepared, err := p.client.prepare(req, &hopCount{max: -1}, nil)
		if err != nil || prepared.gateway || env.Scope(withProvenance(ctx, prepared.prov)) != scope {
			break
		}
		all = append(all, req)
	}
	return all
}

// isPlain reports whether r asks for the content of its URL and says nothing else.
func isPlain(r *Request) bool {
	return r.Op == OpGet && r.Range.IsZero() && len(r.Ranges) == 0 && r.IfChanged.IsZero() && r.View == "" && r.Form == nil && !r.Sends()
}

// Keep implements driver.Pipeline.
func (p *pipeline) Keep(state any, drop func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.kept != nil {
		return false
	}
	p.kept, p.drop = state, drop
	return true
}

// Take implements driver.Pipeline.
func (p *pipeline) Take() any {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.kept
	p.kept, p.drop = nil, nil
	return state
}

func (p *pipeline) end() {
	p.mu.Lock()
	drop := p.drop
	p.kept, p.drop, p.ended = nil, nil, true
	p.mu.Unlock()
	if drop != nil {
		drop()
	}
}
