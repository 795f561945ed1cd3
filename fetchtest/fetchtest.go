// Package fetchtest is the conformance suite for drivers of package fetch.
//
// A driver's test starts a server that holds the suite's files and calls Run:
//
//	func TestConformance(t *testing.T) {
//		fetchtest.Run(t, fetchtest.Harness{
//			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
//				s := ftpd.Start(t, ftpd.Options{Tree: tree})
//				url := func(name string) string { return s.URL + "/" + name }
//				return fetchtest.Site{Load: ftp.Load, URL: url, Log: s.Log, Fault: s.Fail, Can: s.Can}
//			},
//		})
//	}
//
// The cases hold for every protocol. What a protocol cannot do is declared: URL returns "" for
// names that it cannot carry, Want says what it makes of a file, and Skip names cases that make no
// sense, with the reason.
package fetchtest

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
)

// A Harness describes a driver and a server for it.
type Harness struct {
	// Start starts a server that holds tree, or finds one that does, and stops it when the test
	// ends. It is called once, and the cases use the server one after the other. os.CopyFS puts
	// tree into a directory.
	Start func(t testing.TB, tree fs.FS) Site
	// Skip maps the names of cases to the reason why they do not apply. A name that is not a case
	// fails the run.
	Skip map[string]string
	// Options are what the clients are made with: TLS roots, credentials and the like. Nil means
	// none. The suite wraps DialContext, Trace, Logger and CheckAddr, and sets timeouts in the
	// cases that are about them.
	Options *fetch.Options
}

// A Site is a server that holds the suite's files, as its driver sees it.
type Site struct {
	// Load loads the driver.
	Load fetch.Loader
	// URL returns the URL of a file or directory, named as in package fs: "." is the root. It is
	// also asked for names that are not in the tree, for URLs of what does not exist. It returns ""
	// for what the protocol cannot name, such as a directory where there are none, or a file whose
	// bytes it cannot carry; what depends on it is then left out.
	URL func(name string) string
	// Want returns what Get must deliver for the file name with this content, for protocols that
	// change line ends or add a header. Nil means the content itself.
	Want func(name string, content []byte) []byte
	// Log returns the commands and requests received since the start, one an element; nil if that
	// cannot be known, as with a real server.
	Log func() []string
	// Fault arms a fault that strikes the next retrieval, once; nil if that is not possible.
	Fault func(Fault)
	// Can reports which other faults Fault can arm; nil means none. The suite asks for
	// servers.Endless, which strikes the next listing.
	Can func(Fault) bool
	// Escaped is set for protocols that send URLs as they are written, percent-encoded, such as
	// HTTP. An encoded CR LF is harmless there and need not be refused; it must still add no line.
	Escaped bool
}

// A Fault is a way in which a server fails.
type Fault = servers.Fault

// The faults that the suite needs. Cut and Stall strike after at least one byte of the content, and
// before its end.
const (
	Cut   = servers.Cut   // close all connections of the retrieval in mid-body
	Stall = servers.Stall // stop sending in mid-body, and leave the connections open
	Noise = servers.Noise // answer with bytes that are no answer in the protocol
)

// A testCase is one requirement on drivers.
type testCase struct {
	name string
	run  func(t *caseTest)
}

// Run runs the conformance suite on the driver that h describes. Each case is a subtest. They run
// one after the other, and Run may be called by parallel tests.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if bad := h.unknownSkips(); len(bad) > 0 {
		t.Errorf("Harness.Skip names what is not a case: %q; the cases are %s", bad, strings.Join(Cases(), ", "))
	}
	tree := Tree()
	site := h.Start(t, tree)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ct := &caseTest{TB: t, h: h, site: site, tree: tree, timeout: 20 * time.Second}
			ct.run(c)
		})
	}
}

// Cases returns the names of the cases, which are those of the subtests.
func Cases() []string {
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.name
	}
	return names
}

func (h Harness) unknownSkips() []string {
	known := Cases()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(h.Skip)), func(name string) bool {
		return slices.Contains(known, name)
	})
}
