package guide

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/protocols/ftp"
)

func TestMOTD(t *testing.T) {
	s := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"motd": {Data: []byte("welcome")}}})
	c := fetch.New(nil, ftp.Load)
	defer c.Close()

	if got := motd(t.Context(), c, s.URL+"/motd"); got != "welcome" {
		t.Errorf("message %q", got)
	}
	s.Fail(servers.Cut)
	if got := motd(t.Context(), c, s.URL+"/motd"); !strings.HasPrefix(got, "perhaps later: transfer incomplete") {
		t.Errorf("message after a lost connection: %q", got)
	}
	s.Arm(servers.Failure{Fault: servers.Noise, On: servers.Greeting})
	c.Close() // so that the next request makes a connection
	if got := motd(t.Context(), c, s.URL+"/motd"); !strings.Contains(got, "protocol violation") {
		t.Errorf("message for another protocol: %q", got)
	}
}
