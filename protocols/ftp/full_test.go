package ftp

import (
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// TestFullServersAreBusy checks that 530 for the number of users is not taken for a wrong password, and that
// 530 for the number of failed logins is.
func TestFullServersAreBusy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want fetch.Code
	}{
		{"Login incorrect.", fetch.ErrAuth},
		{"Not logged in, too many failed login attempts for this user", fetch.ErrAuth},
		{"User joe locked: maximum number of sessions with a wrong password", fetch.ErrAuth},
		{"User anonymous access denied, limit reached", fetch.ErrAuth},
		{"Sorry, the maximum number of clients (3) from your host are already connected.", fetch.ErrBusy},
		{"Sorry, max 30 users -- try again later", fetch.ErrBusy},
		{"Connection limit reached", fetch.ErrBusy},
		{"Too many users logged in for this account", fetch.ErrBusy},
	}
	for _, tt := range tests {
		code, retry := classify(wire.Reply{Code: 530, Lines: []string{tt.text}})
		if code != tt.want || retry != (tt.want == fetch.ErrBusy) {
			t.Errorf("%q: %s, retry %t", tt.text, code, retry)
		}
	}
}
