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
		t.Errorf("the message is %q", got)
	}
	s.Fail(servers.Cut)
	if got := motd(t.Context(), c, s.URL+"/motd"); !strings.HasPrefix(got, "perhaps later: transfer incomplete") {
		t.Errorf("of a connection that is cut it makes %q", got)
	}
	s.Arm(servers.Failure{Fault: servers.Noise, On: servers.Greeting})
	c.Close() // so that the next request makes a connection
	if got := motd(t.Context(), c, s.URL+"/motd"); !strings.Contains(got, "protocol violation") {
		t.Errorf("of a server of something else it makes %q", got)
	}
}
