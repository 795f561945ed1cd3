package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// many is what the flags say of transfers that run at once.
type many struct {
	jobs, perHost  number
	eight          bool // -Z
	wait           seconds
	randomWait     bool
	quota          size
	hostRate       size
	goOn, failFast bool
	segments       segments
	metalink       bool
}

const defaultJobs = 4

// addManyFlags defines the flags about several transfers.
func addManyFlags(f *pflag.FlagSet, s *settings) {
	m := &s.many
	m.jobs = defaultJobs
	f.VarP(&m.jobs, "jobs", "j", "run `N` transfers at once")
	f.BoolVarP(&m.eight, "parallel", "Z", false, "the same as -j 8")
	f.Var(&m.perHost, "per-host", "run `N` at once with one host")
	f.VarP(&m.segments, "segments", "s", "retrieve `N` ranges of a large file at once; \"auto\": as many as pay")
	f.Var(&m.segments, "split", "the same as --segments")
	f.Lookup("split").Hidden = true
	f.BoolVar(&m.metalink, "metalink", false, "retrieve what Metalink documents describe, and from the mirrors servers name")
	f.VarP(&m.wait, "wait", "w", "wait `SECONDS` between retrievals from one host")
	f.BoolVar(&m.randomWait, "random-wait", false, "wait from half to one and a half of -w")
	f.VarP(&m.quota, "quota", "Q", "begin no more transfers once `SIZE` has come")
	f.Var(&m.hostRate, "limit-rate-per-host", "receive at most `SIZE` a second from one host")
	f.BoolVar(&m.goOn, "keep-going", false, "go on after a failure, as without this flag")
	f.BoolVar(&m.failFast, "fail-fast", false, "end all at the first failure")
}

// segments is the value of --segments.
type segments int

func (s *segments) String() string {
	switch *s {
	case 0:
		return ""
	case download.AutoSegments:
		return "auto"
	}
	return strconv.Itoa(int(*s))
}

func (s *segments) Type() string { return "number" }

func (s *segments) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case text == "auto":
		*s = download.AutoSegments
	case err != nil || n < 1:
		return errors.New("want a number from 1, or auto")
	default:
		*s = segments(n)
	}
	return nil
}

// check finds flags that contradict each other.
func (m *many) check(s *settings) error {
	switch {
	case m.goOn && m.failFast:
		return usage("--keep-going and --fail-fast exclude each other")
	case m.eight && s.given("jobs"):
		return usage("-Z means -j 8; one of them is enough")
	case s.driver.web.HTTP1 && s.driver.web.HTTP2:
		return usage("--http1 and --http2 exclude each other")
	case s.driver.http3 && (s.driver.web.HTTP1 || s.driver.web.HTTP2):
		return usage("--http3 excludes --http1 and --http2")
	case m.metalink && (s.output == "-" || s.tree.on() || s.rng != "" || s.send.method != ""):
		return usage("--metalink is for whole files that are saved: not with -O -, trees, --range or --method")
	case m.randomWait && m.wait == 0:
		return usage("--random-wait without --wait")
	}
	if m.eight {
		m.jobs = 8
	}
	s.driver.conns = int(max(m.jobs, number(m.segments), 0))
	return nil
}

// schedule returns what runs the transfers.
func (a *app) schedule() *schedule.Scheduler {
	m := &a.set.many
	parallel := int(m.jobs)
	if a.serial() {
		parallel = 1
	}
	return schedule.New(&schedule.Options{
		Parallel:    parallel,
		Host:        schedule.Limits{Delay: time.Duration(m.wait)},
		RandomDelay: m.randomWait,
		MaxPause:    time.Duration(a.set.retryWait),
		Pipeline:    a.client.Pipeline,
		Limits: func(host string) schedule.Limits {
			scheme, _, _ := strings.Cut(host, ":")
			return schedule.Limits{Parallel: m.hostLimit(scheme)}
		},
	})
}

// hostLimit returns how many transfers of a scheme one host gets at once.
func (m *many) hostLimit(scheme string) int {
	if m.perHost > 0 {
		return int(m.perHost)
	}
	return perHost(scheme)
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
func (a *app) meet(proxied func(uri.URI) bool) fetch.Recorder {
	met := &met{}
	return func(ctx context.Context, req *fetch.Request) *fetch.Exchange {
		j := job.FromContext(ctx)
		if j == nil || j.URL.Host() != req.URL.Host() || j.URL.Scheme() != req.URL.Scheme() {
			return nil
		}
		host := hostOf(req.URL)
		if met.known(host) || proxied(req.URL) {
			return nil
		}
		return &fetch.Exchange{Peer: func(_ int, addr net.Addr, state *tls.ConnectionState) {
			met.add(host)
			if ap, err := netip.ParseAddrPort(addr.String()); err == nil {
				a.hosts.Met(host, ap.Addr().Unmap().String())
			}
			if state != nil && (state.NegotiatedProtocol == "h2" || state.NegotiatedProtocol == "h3") && a.set.many.perHost == 0 {
				a.hosts.SetLimits(host, schedule.Limits{Parallel: -1})
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
