package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/rlimit"
)

func newScheduler(x *jobs) *schedule.Scheduler {
	m := &x.opts.Many
	parallel, grow := m.Jobs, flags.MaxGrow
	if x.serial() {
		parallel = 1
	}
	if x.serial() || !x.opts.Grows() {
		grow = 0
	}
	if most := maxTransfers(rlimit.Files(), m.Segments); most > 0 && max(parallel, grow) > most {
		if parallel > most {
			x.rep.con.Warn(fmt.Sprintf("%d transfers at once instead of %d, because the system allows %d "+
				"open files; use ulimit -n to change that", most, parallel, rlimit.Files()))
		}
		parallel, grow = min(parallel, most), min(grow, most)
	}
	return schedule.New(&schedule.Options{
		Parallel:    parallel,
		Grow:        grow,
		Host:        schedule.Limits{Delay: m.Wait},
		RandomDelay: m.RandomWait,
		MaxPause:    x.opts.Network.RetryWait,
		Pipeline:    x.client.Pipeline,
		Limits: func(host string) schedule.Limits {
			scheme, _, _ := strings.Cut(host, ":")
			limits := schedule.Limits{Parallel: listLimit(x.opts, scheme)}
			if grow > 0 && x.opts.HostsGrow() {
				limits.Grow = flags.HostGrow(scheme)
			}
			return limits
		},
	})
}

const (
	// ownFiles is the number of files that the process needs apart from transfers: standard streams,
	// name lookups, logs, archives.
	ownFiles = 20
	// transferFiles is the number of files of a transfer: a connection, the partial file, its record,
	// its directory and a pipe. Each segment beyond the first one has a connection and a pipe.
	transferFiles, segmentFiles = 6, 3
)

// maxTransfers returns how many transfers can run at once with this many open files, or 0 if the
// number of files is unknown.
func maxTransfers(files, segments int) int {
	if files <= 0 {
		return 0
	}
	return max(1, (files-ownFiles)/(transferFiles+max(segments-1, 0)*segmentFiles))
}

func treeSchedule(o *flags.Options, seeds []seed) schedule.Options {
	m := &o.Many
	most := 0
	for _, s := range seeds {
		most = max(most, hostLimit(m, s.url.Scheme()))
	}
	parallel, grow := m.Jobs, 0
	if o.Grows() {
		grow = flags.MaxGrow
	}
	if files := maxTransfers(rlimit.Files(), m.Segments); files > 0 {
		parallel, grow = min(parallel, files), min(grow, files)
	}
	return schedule.Options{
		Parallel:    parallel,
		Grow:        grow,
		Host:        schedule.Limits{Parallel: most, Delay: m.Wait},
		RandomDelay: m.RandomWait,
		MaxPause:    o.Network.RetryWait,
	}
}

func hostLimit(m *flags.Many, scheme string) int {
	if m.PerHost > 0 {
		return m.PerHost
	}
	return flags.PerHost(scheme)
}

// listLimit returns the maximum number of parallel transfers per host for the URLs of a list: if the
// user sets --jobs or --parallel but not --per-host, only the limit for all hosts applies. Trees use
// hostLimit.
func listLimit(o *flags.Options, scheme string) int {
	if o.Many.PerHost == 0 && (o.Many.Parallel || o.Given("jobs")) {
		return -1
	}
	return hostLimit(&o.Many, scheme)
}

func hostOf(u uri.URI) string {
	if u.Host() == "" {
		return ""
	}
	return u.Scheme() + ":" + u.Host()
}

// recordHosts is a Recorder that reports the addresses of hosts to the scheduler, except behind a
// proxy. A host that multiplexes streams over one connection is not limited per host.
func (n *network) recordHosts(proxied func(uri.URI) bool) fetch.Recorder {
	seen := &seenHosts{}
	return fetch.RecorderFunc(func(ctx context.Context, req *fetch.Request) *fetch.Recording {
		j := job.FromContext(ctx)
		if j == nil || j.URL.Host() != req.URL.Host() || j.URL.Scheme() != req.URL.Scheme() {
			return nil
		}
		if seen.known(req.URL.Origin()) || proxied(req.URL) {
			return nil
		}
		host := hostOf(req.URL)
		return &fetch.Recording{Peer: func(_ int, addr net.Addr, state *tls.ConnectionState) {
			seen.add(req.URL.Origin())
			if ap, err := netip.ParseAddrPort(addr.String()); err == nil {
				n.hosts.SetAddress(host, ap.Addr().Unmap().String())
			}
			if state != nil && (state.NegotiatedProtocol == "h2" || state.NegotiatedProtocol == "h3") &&
				n.opts.Many.PerHost == 0 {
				n.hosts.SetLimits(host, schedule.Limits{Parallel: -1})
			}
		}}
	})
}

// proxied returns a function that reports whether a URL may be reached through a proxy.
func proxied(choose func(uri.URI) (uri.URI, error)) func(uri.URI) bool {
	if choose == nil {
		choose = fetch.ProxyFromEnvironment
	}
	return func(u uri.URI) bool {
		p, err := choose(u)
		return err != nil || !p.IsZero()
	}
}
