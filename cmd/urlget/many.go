package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// schedule returns what runs the transfers.
func (g *getter) schedule() *schedule.Scheduler {
	m := &g.opts.Many
	parallel := int(m.Jobs)
	if g.serial() {
		parallel = 1
	}
	return schedule.New(&schedule.Options{
		Parallel:    parallel,
		Host:        schedule.Limits{Delay: time.Duration(m.Wait)},
		RandomDelay: m.RandomWait,
		MaxPause:    time.Duration(g.opts.Network.RetryWait),
		Pipeline:    g.client.Pipeline,
		Limits: func(host string) schedule.Limits {
			scheme, _, _ := strings.Cut(host, ":")
			return schedule.Limits{Parallel: hostLimit(m, scheme)}
		},
	})
}

// hostLimit returns how many transfers of a scheme one host gets at once.
func hostLimit(m *flags.Many, scheme string) int {
	if m.PerHost > 0 {
		return int(m.PerHost)
	}
	return flags.PerHost(scheme)
}

// hostOf names the host of u for the scheduler; "" for what has none.
func hostOf(u uri.URI) string {
	if u.Host() == "" {
		return ""
	}
	return u.Scheme() + ":" + u.Host()
}

// meet is a Recorder that tells the scheduler where hosts are met, but not where a proxy stands for
// them. One that sends many streams over one connection gets all transfers that there may be.
func (n *network) meet(proxied func(uri.URI) bool) fetch.Recorder {
	met := &met{}
	return func(ctx context.Context, req *fetch.Request) *fetch.Recording {
		j := job.FromContext(ctx)
		if j == nil || j.URL.Host() != req.URL.Host() || j.URL.Scheme() != req.URL.Scheme() {
			return nil
		}
		host := hostOf(req.URL)
		if met.known(host) || proxied(req.URL) {
			return nil
		}
		return &fetch.Recording{Peer: func(_ int, addr net.Addr, state *tls.ConnectionState) {
			met.add(host)
			if ap, err := netip.ParseAddrPort(addr.String()); err == nil {
				n.hosts.Met(host, ap.Addr().Unmap().String())
			}
			if state != nil && (state.NegotiatedProtocol == "h2" || state.NegotiatedProtocol == "h3") && n.opts.Many.PerHost == 0 {
				n.hosts.SetLimits(host, schedule.Limits{Parallel: -1})
			}
		}}
	}
}

// proxied returns what reports whether a URL may be reached through a proxy.
func proxied(choose func(uri.URI) (uri.URI, error)) func(uri.URI) bool {
	if choose == nil {
		choose = fetch.ProxyFromEnvironment
	}
	return func(u uri.URI) bool {
		p, err := choose(u)
		return err != nil || !p.IsZero()
	}
}
