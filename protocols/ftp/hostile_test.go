package ftp

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// TestSilence checks that the client gives up a server that becomes silent at any step.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"", "USER", "PASS", "PWD", "CWD", "TYPE", "SIZE", "MDTM", "EPSV", "REST", "RETR"} {
		t.Run("at "+verb, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: small, Replies: map[string]string{verb: ""}})
			c := drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Reply: 100 * time.Millisecond}}, Load)
			req := request(fetch.OpGet, "ftp://"+s.Addr+"/etc/motd")
			req.Range.Offset = 3
			_, _, err := drive.Do(t, c, req)
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrNetwork || !e.Retry {
				t.Errorf("%v, want a network failure that may be retried", err)
			}
		})
	}
}

// TestPassiveElsewhere checks that no packet is sent to the address in the reply to PASV.
func TestPassiveElsewhere(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small, Unknown: []string{"EPSV"}, Elsewhere: "192,0,2,1"})
	c := drive.Client(t, &fetch.Options{
		Policy: &fetch.Policy{CheckAddr: func(_ uri.URI, a netip.AddrPort) error {
			if !a.Addr().IsLoopback() {
				return fmt.Errorf("%v is not where the server is", a)
			}
			return nil
		}},
	}, Load)
	if body, err := drive.Get(t, c, "ftp://"+s.Addr+"/motd"); body != welcome {
		t.Errorf("%q, %v", body, err)
	}
}

// endless is a line that is too long.
var endless = strings.Repeat("2", 10<<20)

// TestNoLineEnd checks that the lines of replies are limited.
func TestNoLineEnd(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"", "USER", "CWD", "RETR"} {
		s := ftpd.Start(t, ftpd.Options{Tree: small, Replies: map[string]string{verb: endless}})
		c := drive.Client(t, nil, Load)
		if _, err := drive.Get(t, c, "ftp://"+s.Addr+"/etc/motd"); !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("after %q: %v", verb, err)
		}
	}
}

// TestNoLineEndInListings checks that the lines of listings are limited. It counts the allocations
// of the whole program, so it is not parallel.
func TestNoLineEndInListings(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	dir := &task{}
	n := 0
	for e, err := range dir.entries(io.MultiReader(strings.NewReader(endless), strings.NewReader("\r\nend")), contentType("NLST")) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 && len(e.Name) > maxListingLine || n == 2 && e.Name != "end" {
			t.Errorf("entry %d has a name of %d bytes", n, len(e.Name))
		}
	}
	runtime.ReadMemStats(&after)
	if n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes allocated for a line without end", grown)
	}
}

// TestUnsafe checks that no part of a URL adds commands.
func TestUnsafe(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	c := drive.Client(t, nil, Load)
	for _, bad := range []string{"%0D", "%0A", "%00", "%0D%0ADELE%20motd"} {
		for _, form := range []string{"ftp://u%s:p@%s/motd", "ftp://u:p%s@%s/motd", "ftp://%[2]s/d%[1]s/motd",
			"ftp://%[2]s/motd%[1]s", "ftp://%[2]s/%[1]s;type=d", "ftp://%[2]s/*%[1]s", "ftp://%[2]s/motd;type=a%[1]s"} {
			u := fmt.Sprintf(form, bad, s.Addr)
			resp, err := c.Get(t.Context(), u)
			if err == nil {
				resp.Body.Close()
			}
			if code := fetch.CodeOf(err); code != fetch.ErrURL && code != fetch.ErrPolicy {
				t.Errorf("%s: %v", u, err)
			}
		}
	}
	if log := s.Log(); len(log) > 0 {
		t.Errorf("the server was told %q", log)
	}
}

// TestCredentialsUnsafe checks the same for values from elsewhere.
func TestCredentialsUnsafe(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small, Account: "a"})
	for _, cred := range []fetch.Credential{{User: "u\r\nDELE motd", Password: "p"}, {User: "u", Password: "p\nDELE motd"},
		{User: "u", Password: "p", Account: "a\r\nDELE motd"}} {
		c := drive.Client(t, &fetch.Options{Credentials: asks(cred)}, Load)
		if _, err := drive.Get(t, c, "ftp://"+s.Addr+"/motd"); !errors.Is(err, fetch.ErrURL) {
			t.Errorf("%q: %v", cred, err)
		}
	}
	for _, line := range s.Log() {
		if strings.HasPrefix(line, "DELE") {
			t.Errorf("the server was told %q", line)
		}
	}
}
