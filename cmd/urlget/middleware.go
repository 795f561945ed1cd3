package main

import (
	"context"
	"time"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/internal/render"
)

// middleware returns the middleware for every request: that which observes and limits it, and that
// which answers it from archives.
func (n *network) middleware() []fetch.Middleware {
	list, o := n.observers(), n.opts.Archive
	if o.Replay != nil {
		only := o.ReplayOnly || !o.At.IsZero() && o.TimeGates == nil
		list = append(list, n.replayMiddleware(replay.Options{Only: only, At: o.At,
			Near: o.Near, Within: o.Within, Compressed: n.opts.Driver.Web.Compressed}))
	}
	list = n.addCache(list)
	return n.addTimeGates(list, func(context.Context) time.Time { return o.At })
}

func (n *network) observers() []fetch.Middleware {
	list := []fetch.Middleware{n.watch}
	if n.config.Sectioned() {
		list = append(list, n.addFields)
	}
	if n.opts.Network.Rate > 0 {
		list = append(list, middleware.RateLimit(n.opts.Network.Rate))
	}
	if n.opts.Many.HostRate > 0 {
		list = append(list, middleware.RateLimitPerHost(n.opts.Many.HostRate))
	}
	if rate, during := leastSpeed(n.opts); rate > 0 {
		list = append(list, middleware.SpeedLimit(rate, during))
	}
	return list
}

func (n *network) watch(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		resp, err := next.Open(ctx, req)
		if j := job.FromContext(ctx); err == nil && len(resp.Location) > 0 && j != nil {
			to := req.URL.Resolve(resp.Location[0])
			n.rep.emit(render.Redirect{URL: j.URL.Redacted(), From: req.URL.Redacted(), To: to.Redacted()})
		} else if err == nil && j != nil && resp.Capture != nil && req.Op != fetch.OpStat &&
			!n.opts.Archive.At.IsZero() && !n.opts.Tree.On() {
			n.rep.say("%s: captured on %s", j.URL.Redacted(), resp.Capture)
		}
		return resp, err
	})
}

// addFields is a middleware that adds the header fields of the configuration file to each request.
// It uses the URL of the request, so a redirect does not carry them to another host.
func (n *network) addFields(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		return next.Open(ctx, n.withFields(req))
	})
}

// withFields returns req with these fields. Fields of the command line take precedence.
func (n *network) withFields(req *fetch.Request) *fetch.Request {
	return n.config.WithFields(req, n.opts.Request.Agent != "" && n.typedFlag("user-agent"))
}
