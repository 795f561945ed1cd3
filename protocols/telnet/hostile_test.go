package telnet

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
)

// TestHostileGreetings has rlogin servers that refuse or end a session before it begins.
func TestHostileGreetings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply string
		code  fetch.Code
		retry bool
		want  string
	}{
		"a refusal":                {"\x01Permission denied.\r\n", fetch.ErrRefused, false, "(Permission denied.)"},
		"no resources":             {"\x01rlogind: All network ports in use.\r\n", fetch.ErrBusy, true, "(rlogind: All network ports in use.)"},
		"too many processes":       {"\x01Try again later.\r\n", fetch.ErrBusy, true, "(Try again later.)"},
		"a forged line":            {"\x01no\r\nurlget: saved \x1b[2J\x00", fetch.ErrRefused, false, `(no\r\nurlget: saved \x1b[2J\x00)`},
		"a refusal without an end": {"\x01" + strings.Repeat("x", 100_000), fetch.ErrRefused, false, strings.Repeat("x", 500)},
		"a page of HTML":           {"HTTP/1.1 400 Bad Request\r\n\r\n", fetch.ErrRefused, false, "HTTP/1.1 400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) { c.Send(tt.reply) }})
			_, err := drive.Client(t, nil, Load).Dial(t.Context(), "rlogin://joe@"+s.Addr)
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != tt.code || e.Retry != tt.retry || !strings.Contains(e.Message(), tt.want) || len(e.Message()) > 700 {
				t.Errorf("%v, want %q of class %q, retry %t", err, tt.want, tt.code, tt.retry)
			}
		})
	}
}

// TestHostileScreens has 3270 hosts that end within a record, and whose orders are false.
func TestHostileScreens(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		data string
		code fetch.Code
	}{
		"the end within a record":        {"\xf5\x03\x1d", fetch.ErrTruncated},
		"a record of 1 MB":               {strings.Repeat("\x40", 1<<20), fetch.ErrProtocol},
		"an order without its end":       {"\xf5\x03\x11" + eor, fetch.ErrProtocol},
		"a position beyond the screen":   {"\xf5\x03\x11\x3f\xff\xc1" + eor, fetch.ErrProtocol},
		"a repetition beyond the screen": {"\xf5\x03\x3c\x3f\xff\xc1" + eor, fetch.ErrProtocol},
		"an unknown command":             {"\x99\x03" + eor, fetch.ErrProtocol},
		"a subnegotiation of 4 MB":       {"\xff\xfa\x18" + strings.Repeat("x", 4<<20), fetch.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dial(t, t.Context(), "tn3270", Options{}, host(func(c *telnetd.Conn) { c.Send(tt.data) }))
			text, err := io.ReadAll(s)
			if fetch.CodeOf(err) != tt.code {
				t.Errorf("%q, %v; want class %q", text, err, tt.code)
			}
		})
	}
}
