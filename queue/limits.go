package queue

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// HostLimits are the limits of single hosts. For these, they replace PerHost and Delay of all
// workers. The zero value has none.
type HostLimits struct {
	hosts  []string // in order
	limits map[string]hostLimit
}

// A hostLimit is the limit of a host and of all hosts below it, each for itself.
type hostLimit struct {
	perHost int           // 0 means that of the worker
	delay   time.Duration // a negative one means that of the worker
}

const (
	// maxLimitsText is the maximum size of the text of limits in bytes, and maxLimits their number.
	maxLimitsText = 256 << 10
	maxLimits     = 10_000
	// maxHostLeases and maxHostDelay are the highest limits of a host.
	maxHostLeases = 1000
	maxHostDelay  = 24 * time.Hour
	// maxHostName is the maximum length of a host name in bytes (RFC 1035, section 2.3.4).
	maxHostName = 253
)

// ParseHostLimits reads limits. Each line has the columns HOST PER-HOST WAIT, separated by blanks:
// a host, the number of transfers at once for all workers together, and the pause between two
// transfers with the same lease, such as 5s. "-" means the setting of the worker. A host stands
// also for all hosts below it, each with leases of its own; a leading dot has no meaning. The line
// for the longest name applies. "#" at the start of a line or after a blank starts a comment.
//
// The error for an invalid line has class fetch.ErrRequest, and begins with name and the number of
// the line.
func ParseHostLimits(name string, r io.Reader) (*HostLimits, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxLimitsText+1))
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrFile, Err: err}
	}
	invalid := func(format string, args ...any) error {
		return &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf(format, args...)}
	}
	if len(text) > maxLimitsText {
		return nil, invalid("%s: more than %d bytes", name, maxLimitsText)
	}
	l, n := &HostLimits{limits: map[string]hostLimit{}}, 0
	for line := range strings.Lines(string(text)) {
		n++
		host, limit, err := parseHostLimit(line)
		switch _, known := l.limits[host]; {
		case err != nil:
			return nil, invalid("%s:%d: %w", name, n, err)
		case host == "":
			continue
		case known:
			return nil, invalid("%s:%d: a line before has the same host", name, n)
		case len(l.hosts) == maxLimits:
			return nil, invalid("%s:%d: more than %d hosts", name, n, maxLimits)
		}
		l.hosts = append(l.hosts, host)
		l.limits[host] = limit
	}
	if len(l.String()) > maxLimitsText { // names may be longer in canonical form
		return nil, invalid("%s: more than %d bytes", name, maxLimitsText)
	}
	return l, nil
}

// parseHostLimit parses a line. The host is "" if the line has none.
func parseHostLimit(line string) (host string, l hostLimit, err error) {
	columns := strings.Fields(line)
	for i, c := range columns {
		if strings.HasPrefix(c, "#") {
			columns = columns[:i]
			break
		}
	}
	switch len(columns) {
	case 0:
		return "", l, nil
	case 3:
	default:
		return "", l, fmt.Errorf("%d columns; use HOST PER-HOST WAIT", len(columns))
	}
	if host, err = canonicalHost(columns[0]); err != nil {
		return "", l, err
	}
	if c := columns[1]; c != "-" {
		if l.perHost, err = strconv.Atoi(c); err != nil || l.perHost < 1 || l.perHost > maxHostLeases {
			return "", l, fmt.Errorf("PER-HOST is %.60q; use 1 to %d, or -", c, maxHostLeases)
		}
	}
	l.delay = -1
	if c := columns[2]; c != "-" {
		if l.delay, err = time.ParseDuration(c); err != nil || l.delay < 0 || l.delay > maxHostDelay {
			return "", l, fmt.Errorf("WAIT is %.60q; use a time from 0s to %v, such as 1.5s, or -", c,
				maxHostDelay)
		}
	}
	return host, l, nil
}

func canonicalHost(text string) (string, error) {
	if ip, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return ip.String(), nil
	}
	name := strings.Trim(text, ".")
	u, err := uri.Parse("//" + name)
	if err != nil || name == "" || len(name) > maxHostName || strings.ContainsAny(name, "/?#@:[]*\\%") ||
		strings.Contains(u.Host(), "..") {
		return "", fmt.Errorf("%.60q is not a host", text)
	}
	return u.Host(), nil
}

// String returns the limits in the form that ParseHostLimits reads, without comments.
func (l *HostLimits) String() string {
	var b strings.Builder
	for _, host := range l.hosts {
		limit, perHost, delay := l.limits[host], "-", "-"
		if limit.perHost > 0 {
			perHost = strconv.Itoa(limit.perHost)
		}
		if limit.delay >= 0 {
			delay = limit.delay.String()
		}
		fmt.Fprintf(&b, "%s %s %s\n", host, perHost, delay)
	}
	return b.String()
}

func (l *HostLimits) of(host string) hostLimit {
	if l == nil || len(l.limits) == 0 {
		return hostLimit{delay: -1}
	}
	for name := strings.TrimSuffix(host, "."); name != ""; {
		if limit, ok := l.limits[name]; ok {
			return limit
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return hostLimit{delay: -1}
}

const limitsInterval = 2 * time.Second

// followLimits applies changes of the limits of hosts. While the engine is unreachable, the last
// known ones apply.
func (r *run) followLimits(ctx context.Context) {
	for retry.Sleep(ctx, limitsInterval) == nil {
		if !r.limitsKnown.Load() {
			continue // waitUntilRunning requests them
		}
		short, cancel := context.WithTimeout(ctx, operationTimeout)
		if err := r.loadLimits(short); err != nil && ctx.Err() == nil {
			r.Logger.Debug("cannot read the limits of hosts", "error", err)
		}
		cancel()
	}
}

// loadLimits requests the limits of hosts and applies them. A worker that may not read them, or
// cannot parse them, uses those that it knows.
func (r *run) loadLimits(ctx context.Context) error {
	text, err := r.Engine.HostLimits(ctx)
	switch {
	case fetch.CodeOf(err) == fetch.ErrRefused:
		if !r.limitsKnown.Swap(true) {
			r.Logger.Warn("the worker may not read the limits of hosts, and uses its own", "error", err)
		}
		return nil
	case err != nil:
		return err
	case r.limitsKnown.Load() && bytes.Equal(text, r.limitsText):
		return nil
	}
	defer r.limitsKnown.Store(true)
	r.limitsText = text
	l, err := ParseHostLimits("limits", bytes.NewReader(text))
	if err != nil {
		r.Logger.Warn("the queue has invalid limits of hosts", "error", err)
		return nil
	}
	if r.limitsKnown.Load() || len(l.hosts) > 0 {
		r.Logger.Info("using the limits of hosts in the queue", "hosts", len(l.hosts))
		r.limited.Store(true)
	}
	r.hosts.setLimits(l)
	r.prefetch.wakeNext()
	return nil
}

// limitScheduled passes the limit of a host to the scheduler, which knows only PerHost.
func (r *run) limitScheduled(host string) {
	if r.limited.Load() && host != "" {
		r.sched.SetLimits(host, schedule.Limits{Parallel: r.hosts.limit(host)})
	}
}
