package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"time"
)

// lookupTime limits the wait for name servers. The resolver itself tries each server with each form
// of the name and waits for each.
const lookupTime = 10 * time.Second

// A lookup is the part of a dial before the name has been resolved.
type lookup struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	host  string // "" if it is an address already
	begin time.Time
	timer *time.Timer
	found atomic.Bool
}

// newLookup starts the lookup of the host of addr. It ends when the returned context is done or an
// address has been found.
func newLookup(ctx context.Context, addr string) (*lookup, context.Context) {
	l := &lookup{begin: time.Now()}
	l.ctx, l.end = context.WithCancelCause(ctx)
	host, _, err := net.SplitHostPort(addr)
	if _, notAddr := netip.ParseAddr(host); err == nil && notAddr != nil {
		l.host = host
		l.timer = time.AfterFunc(lookupTime, func() { l.end(l.timeoutError(lookupTime)) })
	}
	return l, l.ctx
}

func (l *lookup) withTrace(ctx context.Context, rec *recording) context.Context {
	if l.host == "" || rec == nil || rec.Lookup == nil {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{DNSDone: func(info httptrace.DNSDoneInfo) {
		var addrs []netip.Addr
		for _, a := range info.Addrs {
			if addr, ok := netip.AddrFromSlice(a.IP); ok {
				addrs = append(addrs, addr.Unmap())
			}
		}
		if info.Err == nil && addrs != nil {
			rec.Lookup(l.host, addrs)
		}
	}})
}

func (l *lookup) addressFound() {
	l.found.Store(true)
	l.stop()
}

func (l *lookup) stop() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

func (l *lookup) timeoutError(waited time.Duration) error {
	return l.newError(fmt.Errorf("lookup %s: no response from the name servers within %v", l.host,
		waited.Round(time.Millisecond)))
}

func (l *lookup) newError(err error) error {
	return &Error{Code: ErrNetwork, Retry: true, Reason: Reason{Kind: ReasonNameServer, Host: l.host},
		Err: err}
}

// explain attributes the error of a failed dial to the lookup if no name server responded. It does
// not change the error of a name without addresses.
func (l *lookup) explain(err error) error {
	l.stop()
	defer l.end(nil)
	if err == nil || l.host == "" || l.found.Load() {
		return err
	}
	if cause := context.Cause(l.ctx); cause != nil {
		if e, ok := errors.AsType[*Error](cause); ok && e.Code == ErrNetwork && e.Reason.IsZero() {
			// the connect timeout
			return l.timeoutError(time.Since(l.begin))
		}
		return cause
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	if ok && !dns.IsNotFound && (dns.IsTemporary || dns.IsTimeout) {
		return l.newError(err)
	}
	return err
}

// LookupTXT implements Env.
func (e *env) LookupTXT(ctx context.Context, name string) ([]string, error) {
	lookup := e.client.opts.LookupTXT
	switch {
	case !provenanceOf(ctx).proxy.url.IsZero():
		return nil, refusal(Reason{Kind: ReasonProxy},
			"records of the DNS cannot be looked up through a proxy")
	case lookup != nil:
	case e.client.opts.DialContext != nil:
		return nil, fmt.Errorf("records of the DNS: %w", errors.ErrUnsupported)
	default:
		lookup = net.DefaultResolver.LookupTXT
	}
	ctx, cancel := e.connectContext(ctx, "no record of the DNS within %v")
	defer cancel()
	records, err := lookup(ctx, name)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return nil, &Error{Code: ErrNotFound, Err: err}
	}
	return records, err
}
