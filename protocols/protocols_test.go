package protocols_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
)

// describe returns a table of the retrievable schemes, and the names of
// the others.
func describe(schemes []fetch.Scheme) string {
	var b strings.Builder
	var names []string
	b.WriteString("| scheme | port | operations | what it is |\n|---|---|---|---|\n")
	for _, s := range schemes {
		if s.State() == "names_only" {
			names = append(names, s.Name)
			continue
		}
		port := ""
		if s.Port != 0 {
			port = strconv.Itoa(int(s.Port))
		}
		var ops []string
		for _, op := range s.Ops {
			ops = append(ops, op.String())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.Name, port, strings.Join(ops, " "), s.Summary)
	}
	fmt.Fprintf(&b, "\nRecognized but not retrievable (urlget explains what they are and suggests an alternative; doi, hdl and urn:ietf:rfc have resolvers): %s.\n", strings.Join(names, ", "))
	return b.String()
}

// TestDefaultPortsMatchPackageURI checks the ports that package uri knows without a client.
func TestDefaultPortsMatchPackageURI(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	known := 0
	for _, s := range c.Schemes() {
		port := uri.MustParse(s.Name + "://h/").Origin().Port
		if port == 0 || s.Port == 0 {
			continue
		}
		known++
		if port != s.Port {
			t.Errorf("%s: package uri says %d, the driver %d", s.Name, port, s.Port)
		}
	}
	if known < 15 {
		t.Errorf("package uri knows the ports of %d schemes only", known)
	}
}

func TestClientsDoNotShareDrivers(t *testing.T) {
	t.Parallel()
	load := protocols.With(protocols.Config{})
	a, b := fetch.New(nil, load), fetch.New(nil, load)
	defer a.Close()
	defer b.Close()
	if len(a.Schemes()) != len(b.Schemes()) || len(a.Schemes()) < 20 {
		t.Errorf("%d and %d schemes", len(a.Schemes()), len(b.Schemes()))
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.Without("ftp", "file"))
	defer c.Close()
	for rawURL, forbidden := range map[string]bool{"ftp://h/x": true, "file:///x": true, "ftps://h/x": false, "data:,x": false} {
		_, err := c.Explain(&fetch.Request{URL: uri.MustParse(rawURL)})
		if forbidden != errors.Is(err, fetch.ErrScheme) {
			t.Errorf("%s: %v", rawURL, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a name that is misspelt is taken")
		}
	}()
	fetch.New(nil, protocols.Without("fpt"))
}
