package gopher_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
)

// TestHostileReplies has servers whose errors, sizes and menus are not what they seem.
func TestHostileReplies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path, line, sent string
		code             fetch.Code
		retry            bool
		want             string
	}{
		"too many users":         {"1/x", "/x", "3Too many connections, please try again later\t\terror.host\t1\r\n.\r\n", fetch.ErrBusy, true, "(Too many connections, please try again later)"},
		"a busy server":          {"0/x", "/x", "3Sorry, the server is too busy\t\terror.host\t1\r\n", fetch.ErrBusy, true, "(Sorry, the server is too busy)"},
		"a file about it":        {"0/x", "/x", "3'/too busy' does not exist\t\terror.host\t1\r\n", fetch.ErrNotFound, false, "does not exist"},
		"a refusal":              {"0/x", "/x", "3Access denied\t\terror.host\t1\r\n", fetch.ErrNotFound, false, "(Access denied)"},
		"a forged line":          {"0/x", "/x", "3no\x1b[2J\rurlget: saved\x00\t\terror.host\t1\r\n", fetch.ErrNotFound, false, `(no\x1b[2J\rurlget: saved\x00)`},
		"a size of 10 PB":        {"0/x%09%09+", "/x\t+", "+9999999999999999\r\nabc", fetch.ErrTruncated, true, "received 3 of 9999999999999999 bytes"},
		"a size beyond numbers":  {"0/x%09%09+", "/x\t+", "+99999999999999999999\r\nabc", fetch.ErrProtocol, false, "too large"},
		"a negative size":        {"0/x%09%09+", "/x\t+", "+-5\r\nabc", "", false, ""},
		"no final dot":           {"0/x%09%09+", "/x\t+", "+-1\r\nabc\r\n", fetch.ErrTruncated, true, "without the final dot"},
		"an error without end":   {"0/x%09%09+", "/x\t+", "--2\r\n2 " + strings.Repeat("x", 100_000), fetch.ErrBusy, true, "xxx"},
		"a header without end":   {"0/x%09%09+", "/x\t+", "+", fetch.ErrTruncated, true, "within its header"},
		"attributes without end": {"0/x%09%09!", "/x\t!", "+-2\r\n+INFO: 0x\t/x\th\t70\r\n" + strings.Repeat("+X: y\r\n", 50_000), fetch.ErrProtocol, false, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := get(t, reply(t, tt.line, tt.sent)+tt.path)
			var e *fetch.Error
			if tt.code == "" && err == nil {
				return
			}
			if !errors.As(err, &e) || e.Code != tt.code || e.Retry != tt.retry || !strings.Contains(e.Message(), tt.want) || len(e.Message()) > 5000 {
				t.Errorf("%.200v, want %q of class %q, retry %t", err, tt.want, tt.code, tt.retry)
			}
		})
	}
}
