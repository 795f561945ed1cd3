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
// The cases apply to every protocol. A harness declares the limits of its protocol: URL returns ""
// for names that it cannot carry, Want returns a file as the protocol changes it, and Skip gives
// the reason why a case does not apply.
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

// A Harness describes a driver and the server that it is tested against.
type Harness struct {
	// Start starts a server for the files in tree, and stops it when the test ends. A test against
	// a real server copies tree to it, for example with os.CopyFS. Start is called once; the cases
	// use the server one after the other.
	Start func(t testing.TB, tree fs.FS) Site
	// Skip maps the names of skipped cases to the reason. A name that is not a case fails the run.
	Skip map[string]string
	// Options are the options of the clients, such as TLS roots and credentials. Nil means the
	// defaults. Cases set DialContext, ListenPacket, Recorder, Logger, Timeouts and fields of
	// Policy as they need.
	Options *fetch.Options
}

// A Site is a running server with the suite's files, and the driver that reads them.
type Site struct {
	// Load registers the driver.
	Load fetch.Loader
	// URL returns the URL of a file or directory, named as in package fs: "." is the root. Names
	// that are not in the tree yield URLs of missing files. URL returns "" if the protocol cannot
	// name or carry the file, for example because it has no directories. Cases that need such a
	// file are skipped.
	URL func(name string) string
	// Want returns the body that Get must return for the named file, for protocols that change line
	// ends or add a header. Nil means content unchanged.
	Want func(name string, content []byte) []byte
	// Log returns the commands or requests received since the start, one per element. It is nil for
	// servers without a readable log.
	Log func() []string
	// Fault makes the next retrieval fail, once. It is nil if the server cannot fail on request.
	Fault func(Fault)
	// Can reports whether Fault supports a fault other than Cut, Stall and Noise. Nil means that it
	// supports none. The suite uses servers.Endless, which affects the next listing.
	Can func(Fault) bool
	// Escaped is set for protocols that send URLs percent-encoded, such as HTTP. An encoded CR LF
	// is harmless there and may be accepted, but must not add a line to the request.
	Escaped bool
}

// A Fault is a way for a server to fail.
type Fault = servers.Fault

// The faults that the suite needs. Cut and Stall occur after the first byte of the content and
// before its end.
const (
	Cut   = servers.Cut   // close all connections of the retrieval in mid-body
	Stall = servers.Stall // stop sending in mid-body and keep the connections open
	Noise = servers.Noise // send bytes that are not a reply of the protocol
)

// A testCase is one requirement for drivers.
type testCase struct {
	name string
	run  func(t *caseTest)
}

// Run runs the conformance suite on the driver described by h, each case as a subtest. The cases
// run one after the other. Parallel tests may call Run.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if bad := h.unknownSkips(); len(bad) > 0 {
		t.Errorf("Harness.Skip has unknown cases: %q; the cases are %s", bad, strings.Join(Cases(), ", "))
	}
	tree := Tree()
	site := h.Start(t, tree)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ct := &caseTest{TB: t, h: h, site: site, tree: tree, timeout: 2 * time.Minute}
			ct.run(c)
		})
	}
}

// Cases returns the names of the cases, which are also the names of their subtests.
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
