package fetchtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/pprof"
	"slices"
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
	// timeout limits everything that must end. It is long, because only a driver that hangs reaches
	// it.
	timeout time.Duration
	clients []*fetch.Client
}

// caseID numbers the cases, so that their goroutines can be told apart.
var caseID atomic.Int64

// run runs one case and checks that it leaves no goroutine behind. Goroutines that the case starts
// inherit its label. Those of the server have none and do not count.
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
	t.until(func() string { return goroutinesWith(label) },
		"goroutines have not ended after their client was closed")
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

// until waits until problem returns "".
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

// within runs f and fails the test if it does not return in time.
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

// client returns a client that is closed at the end of the case. Nil means the harness's options.
func (t *caseTest) client(o *fetch.Options) *fetch.Client {
	if o == nil {
		o = t.options()
	}
	c := fetch.New(o, t.site.Load)
	t.clients = append(t.clients, c)
	return c
}

// context returns a context that stops a hanging driver after within has reported it. On a busy
// machine within may be called late.
func (t *caseTest) context() context.Context {
	limit := 2*t.timeout + 30*time.Second
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit,
		fmt.Errorf("the driver did not return within %v", limit))
	t.Cleanup(cancel)
	return ctx
}

// file returns the URL and the expected body of a file. It skips the case if the file has no URL.
func (t *caseTest) file(name string) (rawURL string, want []byte) {
	t.Helper()
	rawURL = t.url(name)
	return rawURL, t.content(name)
}

// url returns the URL of a file, or skips the case if it has none.
func (t *caseTest) url(name string) string {
	t.Helper()
	rawURL := t.site.URL(name)
	if rawURL == "" {
		t.Skipf("Site.URL has no URL for %q", name)
	}
	return rawURL
}

// content returns the expected body of a file.
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

// largest returns the largest file that has a URL, for cases that interrupt a body. The file of 8
// MiB exceeds the buffers of most sockets, but is only used if URLGET_LONG is set.
func (t *caseTest) largest() (rawURL string, want []byte) {
	t.Helper()
	names := []string{largeFile, bytesFile, middleFile}
	if IsLong() {
		names = slices.Insert(names, 0, bigFile)
	}
	for _, name := range names {
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
		t.Fatalf("Site.URL returned an invalid URL: %v", err)
	}
	return u
}

// open gets rawURL and ends the test on an error.
func (t *caseTest) open(ctx context.Context, c *fetch.Client, rawURL string) *fetch.Response {
	t.Helper()
	resp, err := c.Get(ctx, rawURL)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return resp
}

// read returns the body of rawURL and ends the test on an error.
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

// drain gets rawURL and discards its body.
func (t *caseTest) drain(c *fetch.Client, rawURL string) error {
	t.Helper()
	return discard(c.Get(t.context(), rawURL))
}

// discard reads a response to its end and closes it. It returns err if there is no response.
func discard(resp *fetch.Response, err error) error {
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// checkRecovery checks that the next retrieval succeeds, and so that no broken connection is
// reused.
func (t *caseTest) checkRecovery(c *fetch.Client) {
	t.Helper()
	rawURL, want := t.file(smallFile)
	if diff := difference(t.read(t.context(), c, rawURL), want); diff != "" {
		t.Errorf("the next retrieval: %s", diff)
	}
}

// arm arms a fault, or skips the case.
func (t *caseTest) arm(f Fault) {
	t.Helper()
	if t.site.Fault == nil {
		t.Skip("Site.Fault is nil: the server cannot fail on request")
	}
	t.site.Fault(f)
}

// log returns the server's log, or nil if it has none.
func (t *caseTest) log() []string {
	if t.site.Log == nil {
		return nil
	}
	return t.site.Log()
}

// logDuring returns the log lines that f causes, which should be none. Clients of earlier cases may
// still be closing their sessions. So f runs up to three times, and the result is empty if one run
// causes no line.
func (t *caseTest) logDuring(f func()) []string {
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

// checkError checks the rules for every error of a client.
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

// checkNotFound checks the error of an operation on a missing file.
func (t *caseTest) checkNotFound(op string, err error) {
	t.Helper()
	if !errors.Is(err, fetch.ErrNotFound) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s of a missing file: error %v, want one matching fetch.ErrNotFound and fs.ErrNotExist", op,
			err)
		return
	}
	t.checkError(err)
}

// difference describes the first difference between got and want. It returns "" if they are equal.
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
	return fmt.Sprintf("%d bytes, want %d; at offset %d got %q, want %q", len(got), len(want), at,
		got[at:min(len(got), at+24)], want[at:min(len(want), at+24)])
}
