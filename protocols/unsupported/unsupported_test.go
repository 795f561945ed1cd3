package unsupported_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/unsupported"
)

func TestErrorsHaveHints(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, unsupported.Load)
	for _, s := range c.Schemes() {
		if s.State() != "names_only" || s.Summary == "" || strings.HasSuffix(s.Summary, ".") {
			t.Errorf("%s: state %q, summary %q", s.Name, s.State(), s.Summary)
		}
		_, err := c.Get(t.Context(), s.Name+":x")
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != fetch.ErrNotRetrievable || e.Hint == "" ||
			!strings.Contains(e.Message(), s.Name+" is ") || strings.Contains(e.Message(), "\n") {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	var reg fetch.Registry
	unsupported.Load(nil, &reg)
	for _, name := range []string{"mailserver", "z39.50", "x500", "whois++", "urn"} {
		if _, ok := reg.Lookup(name); !ok {
			t.Errorf("%s (RFC 1738, section 4; RFC 1630) is missing", name)
		}
	}
}

func TestGateway(t *testing.T) {
	t.Parallel()
	echo := fetch.Use("echo", fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Body: fetch.NoBody}, nil
	}))
	c := drive.Client(t, &fetch.Options{Gateways: map[string]string{"doi": "echo://resolver/", "urn:ietf": "echo://ietf/{}.txt"}}, unsupported.Load, echo)
	for url, want := range map[string]string{
		"doi:10.1000/182":   "echo://resolver/10.1000/182",
		"urn:ietf:rfc:1738": "echo://ietf/rfc:1738.txt",
	} {
		resp, err := c.Get(t.Context(), url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		resp.Body.Close()
		if got := resp.URL.String(); got != want {
			t.Errorf("%s went to %s, want %s", url, got, want)
		}
	}
	if _, err := c.Get(t.Context(), "urn:isbn:1"); !errors.Is(err, fetch.ErrNotRetrievable) {
		t.Errorf("a namespace without a gateway: %v", err)
	}
}
