package fetch

import (
	"context"
	"iter"
	"sync"
)

// DoAll performs requests one after the other and yields the response or the error of each. It
// closes Response.Body before the next iteration. Consecutive requests to the same server are
// pipelined if the protocol supports it (see Scheme.Pipelined), so that many of them share a round
// trip. An error concerns a single request; the others are not affected.
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

// Pipeline returns a context for consecutive requests: each ends, with its body closed, before the
// next begins. During a request, next returns the requests that are expected to follow, so that
// drivers can send them ahead (see DoAll). The result of next is only a hint. If the caller does
// not make such a request, its response is discarded without an error. The caller must call end
// after the last request.
//
// If a recorder has Sent or Received, no request is sent ahead, because its bytes would be recorded
// with another exchange.
func (c *Client) Pipeline(ctx context.Context, next func() []*Request) (_ context.Context, end func()) {
	p := &pipeline{client: c, next: next}
	return context.WithValue(ctx, pipelineKey{}, p), p.end
}

type pipelineKey struct{}

type pipeline struct {
	client *Client
	next   func() []*Request

	mu    sync.Mutex
	kept  any
	drop  func()
	ended bool
}

// Pipeline implements Env.
func (e *env) Pipeline(ctx context.Context) Pipeline {
	p, _ := ctx.Value(pipelineKey{}).(*pipeline)
	if p == nil || p.client != e.client {
		return nil
	}
	return p
}

// Next implements Pipeline.
func (p *pipeline) Next(ctx context.Context) []*Request {
	if rec := provenanceOf(ctx).recording; rec != nil &&
		(rec.Sent != nil || rec.Received != nil || rec.Line != nil) {
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

func isPlain(r *Request) bool {
	return r.Op == OpGet && r.Range.IsZero() && len(r.Ranges) == 0 && r.IfChanged.IsZero() && r.View == "" &&
		r.Form == nil && !r.Sends()
}

// Keep implements Pipeline.
func (p *pipeline) Keep(state any, drop func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.kept != nil {
		return false
	}
	p.kept, p.drop = state, drop
	return true
}

// Take implements Pipeline.
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
