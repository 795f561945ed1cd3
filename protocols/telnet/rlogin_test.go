package telnet

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
)

func TestRloginPassword(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "rlogin", Options{Login: true, TermType: "x"}, func(c *telnetd.Conn) {
		c.Expect("\x00" + localUser() + "\x00joe\x00x/38400\x00")
		c.Send("\x00Password: ")
		c.Expect("secret\r")
		c.Send("welcome")
	})
	expect(t, s, "Password: welcome")
}

func TestRloginRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, reply, want string }{
		{"with a reason", "\x01Permission denied.\n", "Permission denied."},
		{"with a text", "rlogind: go away\n", "rlogind: go away"},
	}
	for _, tt := range tests {
		server := telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) { c.Send(tt.reply) }})
		client := fetch.New(nil, Load)
		_, err := client.Dial(t.Context(), "rlogin://joe@"+server.Addr)
		if fetch.CodeOf(err) != fetch.ErrRefused || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		client.Close()
	}
}
