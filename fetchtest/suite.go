package fetchtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A caseTest runs one case on one driver.
type caseTest struct {
	testing.TB
	h    Harness
	site Site
	tree fs.FS
	// timeout is how long something that must end may take. It is long, as only a driver that hangs
	// ever waits for it.
	timeout time.Duration
	clients []*fetch.Client
}

// caseID tells the goroutines of one case from others'.
var caseID atomic.Int64

// run runs one case, and then checks that no goroutine is left. The goroutines that the case starts
// inherit its label; those of the server have none, and are not counted.
func (t *caseTest) run(c testCase) {
	t.Helper()
	if reason, ok := t.h.Skip[c.name]; ok {
		t.Skip(reason)
	}
	label := fmt.Sprintf("fetchtest-%d-", caseID.Add(1))
	pprof.Do(t.Context(), pprof.Labels("fetchtest", label), func(context.Context) {
		defer t.closeClients()
		c.run(t)
	})
	t.until(func() string { return goroutinesWith(label) }, "goroutines outlive their client and responses")
}

func (t *caseTest) closeClients() {
	for _, c := range t.clients {
		c.Close()
	}
}

// goroutinesWith returns the stacks of the goroutines that have the label.
func goroutinesWith(label string) string {
	var all bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&all, 1)
	var found strings.Builder
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, label) {
			found.WriteString(stack + "\n")
		}
	}
	return found.String()
}

// until waits for problem to return "".
func (t *caseTest) until(problem func() string, what string) {
	t.Helper()
	timeout := time.After(t.timeout)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		text := problem()
		if text == "" {
			return
		}
		select {
		case <-time.After(wait):
		case <-timeout:
			t.Errorf("%s:\n%s", what, text)
			return
		}
	}
}

// within runs f, which must return by itself.
func (t *caseTest) within(what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(t.timeout):
		t.Fatalf("%s did not return", what)
	}
}

// options returns a copy of the harness's options.
func (t *caseTest) options() *fetch.Options {
	var o fetch.Options
	if t.h.Options != nil {
		o = *t.h.Options
	}
	return &o
}

// client makes a client that lives as long as the case. Nil means the harness's options.
func (t *caseTest) client(o *fetch.Options) *fetch.Client {
	if o == nil {
		o = t.options()
	}
	c := fetch.New(o, t.site.Load)
	t.clients = append(t.clients, c)
	return c
}

// context returns a context that ends a driver that hangs, after within has noticed.
func (t *caseTest) context() context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*t.timeout,
		fmt.Errorf("the driver did not return within %v", 2*t.timeout))
	t.Cleanup(cancel)
	return ctx
}

// file returns the URL of a file and what it must deliver. If it cannot be named, the case is
// skipped.
func (t *caseTest) file(name string) (rawURL string, want []byte) {
	t.Helper()
	rawURL = t.url(name)
	return rawURL, t.content(name)
}

// url returns the URL of a name, or skips the case.
func (t *caseTest) url(name string) string {
	t.Helper()
	rawURL := t.site.URL(name)
	if rawURL == "" {
		t.Skipf("Site.URL has no URL for %q", name)
	}
	return rawURL
}

// content returns what a file must deliver.
func (t *caseTest) content(name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(t.tree, name)
	if err != nil {
		t.Fatal(err)
	}
	if t.site.Want != nil {
		data = t.site.Want(name, data)
	}
	return data
}

// largest returns the largest file that can be named, for the cases that need time within a body.
func (t *caseTest) largest() (rawURL string, want []byte) {
	t.Helper()
	for _, name := range []string{bigFile, bytesFile, middleFile} {
		if rawURL := t.site.URL(name); rawURL != "" {
			return rawURL, t.content(name)
		}
	}
	return t.file(smallFile)
}

// scheme returns the scheme of rawURL as the driver registered it.
func (t *caseTest) scheme(c *fetch.Client, rawURL string) fetch.Scheme {
	t.Helper()
	name := t.parse(rawURL).Scheme()
	for _, s := range c.Schemes() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("Site.Load registers no scheme %q", name)
	return fetch.Scheme{}
}

func (t *caseTest) parse(rawURL string) uri.URI {
	t.Helper()
	u, err := uri.Parse(rawURL)
	if err != nil {
		t.Fatalf("Site.URL returned a bad URL: %v", err)
	}
	return u
}

// open is Get that must succeed.
func (t *caseTest) open(ctx context.Context, c *fetch.Client, rawURL string) *fetch.Response {
	t.Helper()
	resp, err := c.Get(ctx, rawURL)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return resp
}

// read reads all of rawURL, which must succeed, and closes it.
func (t *caseTest) read(ctx context.Context, c *fetch.Client, rawURL string) []byte {
	t.Helper()
	resp := t.open(ctx, c, rawURL)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("Get %s: reading the body: %v", rawURL, err)
	}
	return data
}

// drain gets rawURL and throws away what it delivers.
func (t *caseTest) drain(c *fetch.Client, rawURL string) error {
	t.Helper()
	return discard(c.Get(t.context(), rawURL))
}

// discard reads a response to its end, if there is one, and closes it.
func discard(resp *fetch.Response, err error) error {
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// recovers checks that the next retrieval is right: no broken connection is used again.
func (t *caseTest) recovers(c *fetch.Client) {
	t.Helper()
	rawURL, want := t.file(smallFile)
	if diff := difference(t.read(t.context(), c, rawURL), want); diff != "" {
		t.Errorf("the next retrieval is wrong: %s", diff)
	}
}

// arm arms a fault, or skips the case.
func (t *caseTest) arm(f Fault) {
	t.Helper()
	if t.site.Fault == nil {
		t.Skip("Site.Fault is nil: the server cannot be made to fail")
	}
	t.site.Fault(f)
}

// log returns the server's log; nil if it has none.
func (t *caseTest) log() []string {
	if t.site.Log == nil {
		return nil
	}
	return t.site.Log()
}

// heard returns what the server got while f ran, which should be nothing. Clients of earlier cases
// may still be closing their sessions, for which nobody waits. So f runs again, and only what comes
// each time counts.
func (t *caseTest) heard(f func()) []string {
	var got []string
	for range 3 {
		before := len(t.log())
		f()
		if got = t.log()[before:]; len(got) == 0 {
			break
		}
	}
	return got
}

// checkError checks what holds for every error of a client.
func (t *caseTest) checkError(err error) {
	t.Helper()
	var fe *fetch.Error
	switch {
	case !errors.As(err, &fe):
		t.Errorf("error of type %T, want *fetch.Error: %v", err, err)
	case fe.Code == "":
		t.Errorf("the error has no class: %v", err)
	case fetch.Printable(err.Error()) != err.Error():
		t.Errorf("the error has unprintable characters: %q", err)
	}
}

// checkNotFound checks the error of an operation on what is not there.
func (t *caseTest) checkNotFound(op string, err error) {
	t.Helper()
	if !errors.Is(err, fetch.ErrNotFound) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s of what is not there: error %v, want one matching fetch.ErrNotFound and fs.ErrNotExist", op, err)
		return
	}
	t.checkError(err)
}

// difference says where got is not want; "" if it is.
func difference(got, want []byte) string {
	if bytes.Equal(got, want) {
		return ""
	}
	n := min(len(got), len(want))
	at := n
	for i := range n {
		if got[i] != want[i] {
			at = i
			break
		}
	}
	return fmt.Sprintf("%d bytes, want %d; from offset %d on got %q, want %q", len(got), len(want), at,
		got[at:min(len(got), at+24)], want[at:min(len(want), at+24)])
}
