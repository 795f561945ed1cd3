package nntp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
)

// A countingConn counts writes.
type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// countWrites returns options that count the writes to servers.
func countWrites() (*fetch.Options, *atomic.Int64) {
	writes := new(atomic.Int64)
	return &fetch.Options{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return countingConn{conn, writes}, nil
	}}, writes
}

func requests(t *testing.T, urls ...string) []*fetch.Request {
	t.Helper()
	var all []*fetch.Request
	for _, text := range urls {
		u, err := uri.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &fetch.Request{URL: u})
	}
	return all
}

// articleURLs returns the URLs of the articles first to last.
func articleURLs(form, addr string, first, last int) []string {
	var all []string
	for n := first; n <= last; n++ {
		all = append(all, fmt.Sprintf(form, addr, n))
	}
	return all
}

// outcomes reads all responses. For each one it returns "ok", a description of a wrong body, or the
// code of the error.
func outcomes(t *testing.T, c *fetch.Client, reqs []*fetch.Request) []string {
	t.Helper()
	var all []string
	i := 0
	for resp, err := range c.DoAll(t.Context(), reqs) {
		end := "ok"
		if err == nil {
			var body []byte
			if body, err = io.ReadAll(resp.Body); err == nil && !strings.Contains(string(body), "\r\nend\r\n") {
				end = "short"
			}
			if want := "<" + reqs[i].URL.String()[strings.LastIndexByte(reqs[i].URL.String(), '/')+1:] + ">"; strings.Contains(want, "@") &&
				!strings.Contains(string(body), "Message-ID: "+want) {
				end = "another article"
			}
		}
		if err != nil {
			end = string(fetch.CodeOf(err))
		}
		all = append(all, end)
		i++
	}
	return all
}

func repeated(s string, n int) []string { return slices.Repeat([]string{s}, n) }

const (
	byID     = "news://%s/%d@x.invalid"
	byNumber = "nntp://%s/test.a/%d"
)

// TestPipelinedArticles checks that many articles need few writes and arrive complete.
func TestPipelinedArticles(t *testing.T) {
	t.Parallel()
	for _, form := range []string{byID, byNumber} {
		for _, cfg := range []nntpd.Options{{Groups: groups(300)}, {Groups: groups(300), Legacy: true}} {
			s := nntpd.Start(t, cfg)
			opts, writes := countWrites()
			c := drive.Client(t, opts, With(Options{MaxConns: 1}))
			got := outcomes(t, c, requests(t, articleURLs(form, s.Addr, 1, 300)...))
			if !slices.Equal(got, repeated("ok", 300)) {
				t.Errorf("%s: %q", form, got)
			}
			if n := writes.Load(); n > 25 || s.Accepted() != 1 {
				t.Errorf("%s: 300 articles took %d writes on %d connections", form, n, s.Accepted())
			}
			if _, err := drive.Get(t, c, fmt.Sprintf(form, s.Addr, 1)); err != nil || s.Accepted() != 1 {
				t.Errorf("%s: afterwards: %v, %d connections", form, err, s.Accepted())
			}
		}
	}
}

// TestPipelineWithMissingArticles checks that missing articles do not affect others in the pipeline.
func TestPipelineWithMissingArticles(t *testing.T) {
	t.Parallel()
	for _, form := range []string{byID, byNumber} {
		s := nntpd.Start(t, nntpd.Options{Groups: groups(40)})
		urls := articleURLs(form, s.Addr, 1, 40)
		want := repeated("ok", 40)
		for _, i := range []int{0, 1, 7, 20, 39} {
			urls[i] = fmt.Sprintf(form, s.Addr, 1000+i)
			want[i] = string(fetch.ErrNotFound)
		}
		opts, writes := countWrites()
		got := outcomes(t, drive.Client(t, opts, With(Options{MaxConns: 1})), requests(t, urls...))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", form, got)
		}
		if n := writes.Load(); n > 15 || s.Accepted() != 1 {
			t.Errorf("%s: %d writes on %d connections", form, n, s.Accepted())
		}
	}
}

// TestBrokenPipelines checks that a broken connection makes at most one article fail.
func TestBrokenPipelines(t *testing.T) {
	t.Parallel()
	for _, fault := range []servers.Fault{servers.Cut, servers.Reset, servers.HalfClose, servers.Noise} {
		for _, after := range []int64{-1, 0, 100} {
			for _, at := range []int{1, 2, 30} {
				s := nntpd.Start(t, nntpd.Options{Groups: groups(40)})
				c := drive.Client(t, nil, With(Options{MaxConns: 1}))
				// Arm the failure after the previous article has been read.
				reqs := requests(t, articleURLs(byID, s.Addr, 1, 40)...)
				var failed []int
				i := 0
				for resp, err := range c.DoAll(t.Context(), reqs) {
					if err == nil {
						_, err = io.Copy(io.Discard, resp.Body)
					}
					if err != nil {
						failed = append(failed, i)
						if again, err := c.Do(t.Context(), reqs[i]); err != nil {
							t.Errorf("%s at %d: second request: %v", fault, i, err)
						} else {
							again.Body.Close()
						}
					}
					if i++; i == at {
						s.Arm(servers.Failure{Fault: fault, After: after, On: "ARTICLE"})
					}
				}
				if i != 40 || len(failed) > 1 {
					t.Errorf("%s after %d at %d: %d outcomes, failed %d", fault, after, at, i, failed)
				}
			}
		}
	}
}

// TestPipelineWithUnexpectedRequests sends requests that differ from the announced ones.
func TestPipelineWithUnexpectedRequests(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: groups(100), User: "u", Password: "p"})
	other := nntpd.Start(t, nntpd.Options{Groups: groups(20)})
	opts := &fetch.Options{Credentials: credentialFunc(func() (fetch.Credential, error) {
		return fetch.Credential{User: "u", Password: "p"}, nil
	})}
	c := drive.Client(t, opts, With(Options{MaxConns: 1, AllowPlaintext: true}))
	expected := requests(t, articleURLs(byID, s.Addr, 1, 100)...)
	at := 0
	ctx, end := c.Pipeline(t.Context(), func() []*fetch.Request { return expected[at+1:] })
	defer end()
	read := func(what string, req *fetch.Request) {
		t.Helper()
		resp, err := c.Do(ctx, req)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	read("the first", expected[0])
	at = 1
	read("the second", expected[at])
	at = 9
	read("a pipelined one", expected[at])
	read("the same again", expected[at])
	list := *requests(t, "nntp://"+s.Addr+"/test.a")[0]
	list.Op = fetch.OpList
	read("a listing", &list)
	at = 10
	read("after the listing", expected[at])
	read("another server", requests(t, fmt.Sprintf(byID, other.Addr, 3))[0])
	at = 11
	read("the first server", expected[at])
	stat := *expected[50]
	stat.Op = fetch.OpStat
	read("a header", &stat)
	at = 12
	resp, err := c.Do(ctx, expected[at])
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() // not read
	at = 13
	read("after an unread response", expected[at])
	at = 14
	short, cancel := context.WithCancelCause(ctx)
	if resp, err = c.Do(short, expected[at]); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	cancel(stop)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil && !errors.Is(err, stop) {
		t.Error(err)
	}
	resp.Body.Close()
	at = 15
	read("after a canceled request", expected[at])
	end()
	read("after the end", expected[20])
}

type credentialFunc func() (fetch.Credential, error)

func (f credentialFunc) Credential(context.Context, fetch.Challenge) (fetch.Credential, error) {
	return f()
}

// TestPipelineRespectsPolicyAndRecorder checks that articles refused by the policy are not requested
// ahead, and that nothing is requested ahead with a recorder.
func TestPipelineRespectsPolicyAndRecorder(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: groups(20)})
	urls := articleURLs(byID, s.Addr, 1, 20)
	refused := errors.New("refused")
	c := drive.Client(t, &fetch.Options{Policy: &fetch.Policy{CheckURL: func(u, _ uri.URI) error {
		if u.String() == urls[9] {
			return refused
		}
		return nil
	}}}, Load)
	want := repeated("ok", 20)
	want[9] = string(fetch.ErrPolicy)
	if got := outcomes(t, c, requests(t, urls...)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if log := strings.Join(s.Log(), "\n"); strings.Contains(log, "<10@") {
		t.Errorf("the article was requested:\n%s", log)
	}
	opts, writes := countWrites()
	opts.Recorder = fetch.RecordLines(func(bool, string) {})
	c = drive.Client(t, opts, Load)
	if got := outcomes(t, c, requests(t, urls...)); !slices.Equal(got, repeated("ok", 20)) || writes.Load() < 20 {
		t.Errorf("%q in %d writes", got, writes.Load())
	}
}
