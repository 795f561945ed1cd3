package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols"
)

func TestExitStatus(t *testing.T) {
	t.Parallel()
	tests := map[fetch.Code]int{
		"":                        1,
		fetch.ErrURL:              2,
		fetch.ErrNoServer:         2,
		fetch.ErrRequest:          2,
		fetch.ErrFile:             3,
		fetch.ErrNetwork:          4,
		fetch.ErrTLS:              5,
		fetch.ErrAuth:             6,
		fetch.ErrProtocol:         7,
		fetch.ErrRedirect:         7,
		fetch.ErrNotFound:         8,
		fetch.ErrRefused:          8,
		fetch.ErrBusy:             8,
		fetch.ErrServer:           8,
		fetch.ErrRange:            8,
		fetch.ErrScheme:           16,
		fetch.ErrNotRetrievable:   16,
		fetch.ErrInteractive:      16,
		fetch.ErrNeedSearch:       16,
		fetch.ErrNeedForm:         16,
		fetch.ErrPolicy:           17,
		fetch.ErrTruncated:        18,
		fetch.ErrChanged:          18,
		fetch.ErrChecksum:         18,
		fetch.ErrTooLarge:         18,
		fetch.ErrInterrupted:      130,
		fetch.ErrNotModified:      0,
		fetch.Code("a new class"): 1,
	}
	for code, want := range tests {
		if got := exitStatus(fmt.Errorf("wrapped: %w", &fetch.Error{Code: code})); got != want {
			t.Errorf("%q: %d, want %d", code, got, want)
		}
	}
	for err, want := range map[error]int{
		nil:                          0,
		errors.New("odd"):            1,
		failure.Usagef("wrong"):      2,
		failure.File(fs.ErrNotExist): 3,
		error(fetch.ErrInterrupted):  130,
	} {
		if got := exitStatus(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

func TestPrintError(t *testing.T) {
	t.Parallel()
	redirected := &fetch.Error{Op: "get", URL: "http://h/b", Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 404, Text: "No\nt \x1bhere"}, Hint: "look\nelsewhere"}
	tests := []struct {
		subject string
		err     error
		want    string
	}{
		{"http://h/b", redirected, "urlget: http://h/b: not found (404 No\\nt \\x1bhere)\nhint: look\\nelsewhere\n"},
		{"http://h/a", redirected, "urlget: http://h/a: http://h/b: not found (404 No\\nt \\x1bhere)\nhint: look\\nelsewhere\n"},
		{"", failure.Usagef("no URL"), "urlget: no URL\n"},
		{"x\x1b", errors.New("a\nb"), "urlget: x\\x1b: a\\nb\n"},
	}
	for _, tt := range tests {
		var b strings.Builder
		printError(&b, false, "", tt.subject, tt.err)
		if b.String() != tt.want {
			t.Errorf("got  %q\nwant %q", b.String(), tt.want)
		}
	}
}

func TestParseResolve(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, hostport, addr string }{
		{"H.example:80:127.0.0.1", "h.example:80", "127.0.0.1"},
		{"h:80:::1", "h:80", "::1"},
		{"h:80:[::1]", "h:80", "::1"},
		{"[2001:db8::1]:80:127.0.0.1", "[2001:db8::1]:80", "127.0.0.1"},
	}
	for _, tt := range tests {
		hostport, addr, err := parseResolve(tt.text)
		if err != nil || hostport != tt.hostport || addr != netip.MustParseAddr(tt.addr) {
			t.Errorf("%s: %q, %v, %v", tt.text, hostport, addr, err)
		}
	}
	for _, text := range []string{"", "h", "h:80", "h:80:", "h:x:::1", ":80:::1", "[::1:80:::1", "h:80:name"} {
		if hostport, addr, err := parseResolve(text); err == nil || err.Error() != fmt.Sprintf("--resolve: %q is not HOST:PORT:ADDR", text) {
			t.Errorf("%s: %q, %v, error %v", text, hostport, addr, err)
		}
	}
}

// Servers without TLS 1.2 are refused, even with --insecure.
func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true} {
		s := httptest.NewUnstartedServer(pages())
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{MinVersion: version, MaxVersion: version}
		s.StartTLS()
		t.Cleanup(s.Close)
		opts := flags.New()
		opts.Trust.Insecure = true
		cfg, err := tlsConfig(opts, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := fetch.New(&fetch.Options{TLS: cfg}, protocols.All)
		text, err := c.ReadAll(t.Context(), s.URL+"/hello.txt", 0)
		if ok && (err != nil || string(text) != "0123456789") || !ok && fetch.CodeOf(err) != fetch.ErrTLS {
			t.Errorf("%s: %q, %v", tls.VersionName(version), text, err)
		}
		c.Close()
	}
}

func TestLeastSpeed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args   string
		rate   int64
		during time.Duration
	}{
		{"", 0, 0},
		{"--speed-limit 1000", 1000, 30 * time.Second},
		{"--speed-time 10", 1, 10 * time.Second},
		{"--speed-limit 1000 --speed-time 1m", 1000, time.Minute},
		{"--speed-limit 0 --speed-time 1m", 0, 0},
		{"--speed-limit 10 --speed-time 0", 0, 0},
		{"-r", 100, 5 * time.Minute},
		{"-m --speed-limit 5", 5, 5 * time.Minute},
		{"-p --speed-time 5", 100, 5 * time.Second},
		{"--spider --speed-limit 0", 0, 0},
		{"-r --speed-time inf", 0, 0},
	}
	for _, tt := range tests {
		p := newProgram(nil, stdio{}, nil)
		set := p.command().Flags()
		if err := set.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		p.opts.Use(set)
		if rate, during := leastSpeed(p.opts); rate != tt.rate || during != tt.during {
			t.Errorf("%s: %d in %v", tt.args, rate, during)
		}
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args string
		want fetch.Timeouts
	}{
		{"", fetch.Timeouts{}},
		{"-T 5", fetch.Timeouts{Connect: 5e9, Reply: 5e9, Idle: 5e9}},
		{"-T 0", fetch.Timeouts{Connect: -1, Reply: -1, Idle: -1}},
		{"-T 5 --connect-timeout 2", fetch.Timeouts{Connect: 2e9, Reply: 5e9, Idle: 5e9}},
		{"-T 0 --read-timeout 2", fetch.Timeouts{Connect: -1, Reply: 2e9, Idle: 2e9}},
		{"-T 5 --read-timeout 0", fetch.Timeouts{Connect: 5e9, Reply: -1, Idle: -1}},
	}
	for _, tt := range tests {
		p := newProgram(nil, stdio{}, nil)
		set := p.command().Flags()
		if err := set.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		p.opts.Use(set)
		if got := timeouts(p.opts); got != tt.want {
			t.Errorf("%s: %+v", tt.args, got)
		}
	}
}

func TestHostsOfPages(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080 localhost:8080",
		"127.0.0.1:80":   "127.0.0.1:80 localhost:80 127.0.0.1 localhost",
		"[::1]:80":       "[::1]:80 localhost:80 [::1] localhost",
	} {
		if got := strings.Join(hostsOf(addr), " "); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
