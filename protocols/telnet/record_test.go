package telnet

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
)

// TestRecord checks that a record has the server's data and the negotiation, but no typed data.
func TestRecord(t *testing.T) {
	t.Parallel()
	tests := []struct {
		scheme string
		script func(*telnetd.Conn)
		prompt string // awaited before typing
		typed  string
		shown  string // after the prompt
		sent   string // recorded as sent
	}{
		{"telnet", func(c *telnetd.Conn) {
			c.Send("\xff\xfd\x06Password: ") // IAC DO TIMING-MARK
			c.Expect("\xff\xfc\x06s3cr3t")
			c.Send("welcome")
		}, "Password: ", "s3cr3t", "welcome", "\xff\xfc\x06"},
		{"rlogin", func(c *telnetd.Conn) {
			c.Expect("\x00" + localUser() + "\x00joe\x00vt100/38400\x00")
			c.Send("\x00Password: ")
			c.Expect("s3cr3t")
			c.Send("welcome")
		}, "Password: ", "s3cr3t", "welcome", "\x00" + localUser() + "\x00joe\x00vt100/38400\x00"},
		{"tn3270", host(func(c *telnetd.Conn) {
			c.Send(form + eor)
			c.Expect("\x7d\x40\xc8\x11\x40\xc6" + ebcdic("jo") + eor)
			c.Send("\xf1\x02\x11\x40\x40" + ebcdic("Hello") + eor)
		}), "", "jo\n", " name\n\nHello jo\n",
			"\xff\xfb\x18\xff\xfa\x18\x00IBM-3278-2\xff\xf0\xff\xfb\x19\xff\xfd\x19\xff\xfb\x00\xff\xfd\x00"},
	}
	for _, tt := range tests {
		t.Run(tt.scheme, func(t *testing.T) {
			t.Parallel()
			server := telnetd.Start(t, telnetd.Options{Script: tt.script})
			var rec fetchtest.Recording
			c := drive.Client(t, &fetch.Options{Recorder: &rec}, With(Options{TermType: "vt100"}))
			s, err := c.Dial(t.Context(), tt.scheme+"://joe@"+server.Addr+"/")
			if err != nil {
				t.Fatal(err)
			}
			expect(t, s, tt.prompt)
			typed := enter(s, tt.typed)
			expect(t, s, tt.shown)
			if err := <-typed; err != nil {
				t.Error(err)
			}
			s.Close()
			all := rec.Exchanges()
			if len(all) != 1 || len(all[0].Ends) != 1 || all[0].Ends[0] != nil {
				t.Fatalf("%+v", all)
			}
			x := all[0]
			if got := string(x.Sent()); got != tt.sent || strings.Contains(strings.Join(x.Lines, "\n"), tt.typed) {
				t.Errorf("sent %q, want %q; lines %q", got, tt.sent, x.Lines)
			}
			if got := string(x.Received()); !strings.Contains(got, "Password: welcome") && !strings.Contains(got, ebcdic("Hello")) {
				t.Errorf("received %q", got)
			}
		})
	}
}
