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

// An exam is one case being tried on one driver.
type exam struct {
	testing.TB
	h    Harness
	site Site
	tree fs.FS
	// patience is how long something that must end may take. It is long, as
	// only a driver that hangs ever waits for it.
	patience time.Duration
	clients  []*fetch.Client
}

// examID tells the goroutines of one exam from others'.
var examID atomic.Int64

// run runs one case, and then sees to it that no goroutine is left. Those that
// the case leads to inherit its label, so the server's are not counted.
func (e *exam) run(c testCase) {
	e.Helper()
	if reason, ok := e.h.Skip[c.name]; ok {
		e.Skip(reason)
	}
	label := fmt.Sprintf("fetchtest-%d-", examID.Add(1))
	pprof.Do(e.Context(), pprof.Labels("fetchtest", label), func(context.Context) {
		defer e.closeClients()
		c.run(e)
	})
	e.until(func() string { return goroutinesWith(label) }, "goroutines outlive their client and responses")
}

func (e *exam) closeClients() {
	for _, c := range e.clients {
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
func (e *exam) until(problem func() string, what string) {
	e.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(e.patience)
	for {
		text := problem()
		if text == "" {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			e.Errorf("%s:\n%s", what, text)
			return
		}
	}
}

// within runs f, which must return by itself.
func (e *exam) within(what string, f func()) {
	e.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(e.patience):
		e.Fatalf("%s did not return", what)
	}
}

// options returns a copy of the harness's options.
func (e *exam) options() *fetch.Options {
	var o fetch.Options
	if e.h.Options != nil {
		o = *e.h.Options
	}
	return &o
}

// client makes a client that lives as long as the case. Nil means the
// harness's options.
func (e *exam) client(o *fetch.Options) *fetch.Client {
	if o == nil {
		o = e.options()
	}
	c := fetch.New(o, e.site.Load)
	e.clients = append(e.clients, c)
	return c
}

// context returns a context that ends a hanging driver, but after within does.
func (e *exam) context() context.Context {
	ctx, cancel := context.WithTimeoutCause(e.Context(), 2*e.patience,
		fmt.Errorf("the suite lost patience after %v", 2*e.patience))
	e.Cleanup(cancel)
	return ctx
}

// file returns the URL of a file and what it must deliver. If it cannot be
// named, the case is skipped.
func (e *exam) file(name string) (rawURL string, want []byte) {
	e.Helper()
	rawURL = e.url(name)
	return rawURL, e.content(name)
}

// url returns the URL of a name, or skips the case.
func (e *exam) url(name string) string {
	e.Helper()
	rawURL := e.site.URL(name)
	if rawURL == "" {
		e.Skipf("Site.URL has no URL for %q", name)
	}
	return rawURL
}

// content returns what a file must deliver.
func (e *exam) content(name string) []byte {
	e.Helper()
	data, err := fs.ReadFile(e.tree, name)
	if err != nil {
		e.Fatal(err)
	}
	if e.site.Want != nil {
		data = e.site.Want(name, data)
	}
	return data
}

// largest returns the largest file that can be named, for the cases that need
// time within a body.
func (e *exam) largest() (rawURL string, want []byte) {
	e.Helper()
	for _, name := range []string{bigFile, octetsFile, middleFile} {
		if rawURL := e.site.URL(name); rawURL != "" {
			return rawURL, e.content(name)
		}
	}
	return e.file(smallFile)
}

// scheme returns the scheme of rawURL as the driver registered it.
func (e *exam) scheme(c *fetch.Client, rawURL string) fetch.Scheme {
	e.Helper()
	name := e.parse(rawURL).Scheme()
	for _, s := range c.Schemes() {
		if s.Name == name {
			return s
		}
	}
	e.Fatalf("Site.Load registers no scheme %q", name)
	return fetch.Scheme{}
}

func (e *exam) parse(rawURL string) uri.URI {
	e.Helper()
	u, err := uri.Parse(rawURL)
	if err != nil {
		e.Fatalf("Site.URL returned a bad URL: %v", err)
	}
	return u
}

// open is Get that must succeed.
func (e *exam) open(ctx context.Context, c *fetch.Client, rawURL string) *fetch.Response {
	e.Helper()
	resp, err := c.Get(ctx, rawURL)
	if err != nil {
		e.Fatalf("Get: %v", err)
	}
	return resp
}

// read reads all of rawURL, which must succeed, and closes it.
func (e *exam) read(ctx context.Context, c *fetch.Client, rawURL string) []byte {
	e.Helper()
	resp := e.open(ctx, c, rawURL)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		e.Fatalf("Get %s: reading the body: %v", rawURL, err)
	}
	return data
}

// drain gets rawURL and throws away what it delivers.
func (e *exam) drain(c *fetch.Client, rawURL string) error {
	e.Helper()
	return discard(c.Get(e.context(), rawURL))
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

// recovers checks that the driver is as good as new after a failure: no
// broken connection is used again.
func (e *exam) recovers(c *fetch.Client) {
	e.Helper()
	rawURL, want := e.file(smallFile)
	if diff := difference(e.read(e.context(), c, rawURL), want); diff != "" {
		e.Errorf("the next retrieval is wrong: %s", diff)
	}
}

// arm arms a fault, or skips the case.
func (e *exam) arm(f Fault) {
	e.Helper()
	if e.site.Fault == nil {
		e.Skip("Site.Fault is nil: the server cannot be made to fail")
	}
	e.site.Fault(f)
}

// log returns the server's log; nil if it has none.
func (e *exam) log() []string {
	if e.site.Log == nil {
		return nil
	}
	return e.site.Log()
}

// heard returns what the server got while f ran, which should be nothing. Once it
// may be what the clients of earlier cases said when they took leave, as they
// wait for nobody and nobody can wait for them. So f runs again, and only what
// comes each time counts.
func (e *exam) heard(f func()) []string {
	var got []string
	for range 3 {
		before := len(e.log())
		f()
		if got = e.log()[before:]; len(got) == 0 {
			break
		}
	}
	return got
}

// checkError checks what holds for every error of a client.
func (e *exam) checkError(err error) {
	e.Helper()
	var fe *fetch.Error
	switch {
	case !errors.As(err, &fe):
		e.Errorf("error of type %T, want *fetch.Error: %v", err, err)
	case fe.Code == "":
		e.Errorf("the error has no class: %v", err)
	case fetch.Printable(err.Error()) != err.Error():
		e.Errorf("the error has unprintable characters: %q", err)
	}
}

// checkNotFound checks the error of an operation on what is not there.
func (e *exam) checkNotFound(op string, err error) {
	e.Helper()
	if !errors.Is(err, fetch.ErrNotFound) || !errors.Is(err, fs.ErrNotExist) {
		e.Errorf("%s of what is not there: error %v, want one matching fetch.ErrNotFound and fs.ErrNotExist", op, err)
		return
	}
	e.checkError(err)
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
	return fmt.Sprintf("%d octets, want %d; from offset %d on got %q, want %q", len(got), len(want), at,
		got[at:min(len(got), at+24)], want[at:min(len(want), at+24)])
}
