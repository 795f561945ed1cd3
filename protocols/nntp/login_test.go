package nntp

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	right, wrong := fetch.Credential{User: "u", Password: "s3cret"}, fetch.Credential{User: "u", Password: "no"}
	base := nntpd.Options{Groups: groups(1), User: "u", Password: "s3cret"}
	with := func(change func(*nntpd.Options)) nntpd.Options {
		cfg := base
		change(&cfg)
		return cfg
	}
	starttls := with(func(c *nntpd.Options) { c.TLS = serverTLS })
	implicit := with(func(c *nntpd.Options) { c.TLS, c.Implicit = serverTLS, true })
	for name, c := range map[string]struct {
		cfg   nntpd.Options
		opts  Options
		url   string // $ is the address
		creds []fetch.Credential
		want  error
		sent  []string // commands that the server must receive
	}{
		"plaintext not allowed":        {base, Options{}, "news://$/1@x.invalid", []fetch.Credential{right}, fetch.ErrAuth, nil},
		"plaintext allowed":            {base, Options{AllowPlaintext: true}, "news://$/1@x.invalid", []fetch.Credential{right}, nil, []string{"AUTHINFO USER u", "AUTHINFO PASS s3cret"}},
		"from the URL":                 {base, Options{AllowPlaintext: true}, "news://u:s3cret@$/1@x.invalid", nil, nil, nil},
		"STARTTLS if offered":          {starttls, Options{}, "nntp://$/test.a/1", []fetch.Credential{right}, nil, []string{"STARTTLS"}},
		"STARTTLS required":            {starttls, Options{StartTLS: true}, "news://$/1@x.invalid", []fetch.Credential{right}, nil, nil},
		"over TLS":                     {implicit, Options{}, "snews://$/1@x.invalid", []fetch.Credential{right}, nil, nil},
		"second credential":            {implicit, Options{}, "nntps://$/test.a/1", []fetch.Credential{wrong, right}, nil, nil},
		"wrong password":               {implicit, Options{}, "snews://$/1@x.invalid", []fetch.Credential{wrong}, fetch.ErrAuth, nil},
		"no credentials":               {implicit, Options{}, "snews://$/1@x.invalid", nil, fetch.ErrAuth, nil},
		"SASL":                         {with(func(c *nntpd.Options) { c.TLS, c.Implicit, c.SASL = serverTLS, true, true }), Options{}, "snews://$/1@x.invalid", []fetch.Credential{right}, nil, []string{"AUTHINFO SASL PLAIN AHUAczNjcmV0"}},
		"SASL, wrong password":         {with(func(c *nntpd.Options) { c.TLS, c.Implicit, c.SASL = serverTLS, true, true }), Options{}, "snews://$/1@x.invalid", []fetch.Credential{wrong}, fetch.ErrAuth, nil},
		"TLS required and offered":     {with(func(c *nntpd.Options) { c.TLS, c.NeedTLS = serverTLS, true }), Options{}, "news://$/1@x.invalid", []fetch.Credential{right}, nil, nil},
		"TLS required and not offered": {with(func(c *nntpd.Options) { c.NeedTLS = true }), Options{}, "news://$/1@x.invalid", nil, fetch.ErrTLS, nil},
		"no STARTTLS":                  {base, Options{StartTLS: true}, "news://$/1@x.invalid", nil, fetch.ErrTLS, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := nntpd.Start(t, c.cfg)
			var mu sync.Mutex
			var trace strings.Builder
			var rec fetchtest.Recording
			cl := drive.Client(t, &fetch.Options{TLS: clientTLS, Credentials: drive.Credentials(c.creds...), Recorder: fetch.JoinRecorders(&rec, fetch.RecordLines(func(_ bool, line string) {
				mu.Lock()
				defer mu.Unlock()
				trace.WriteString(line + "\n")
			}))}, With(c.opts))
			body, err := drive.Get(t, cl, strings.ReplaceAll(c.url, "$", s.Addr))
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil && body != crlf(sample) {
				t.Errorf("got %q", body)
			}
			sent := s.Log()
			for _, want := range c.sent {
				if !slices.Contains(sent, want) {
					t.Errorf("no %q in %q", want, sent)
				}
			}
			if c.want == fetch.ErrAuth && !c.cfg.Implicit {
				for _, line := range sent {
					if strings.HasPrefix(line, "AUTHINFO") {
						t.Errorf("sent %q in plaintext", line)
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, secret := range []string{"s3cret", "AHUAczNjcmV0"} {
				if strings.Contains(trace.String(), secret) || rec.Shows(secret) {
					t.Errorf("the trace or the record contains %q", secret)
				}
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error contains %q: %v", secret, err)
				}
			}
		})
	}
}

// TestNextCredentialAfterRejectedLogin checks that the next credential is tried after each reply
// code for a wrong password: 482 and 502 (RFC 2980), and 481 (RFC 4643).
func TestNextCredentialAfterRejectedLogin(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"481", "482", "502"} {
		conv, err := transcript.Parse("login", []byte("-- control --\nS: 200 hi\nC: CAPABILITIES\nS: 500 what\nC: MODE READER\nS: 500 what\n"+
			"C: ARTICLE <a@b>\nS: 480 login\nC: AUTHINFO USER joe\nS: 381 more\nC: AUTHINFO PASS old\nS: "+code+" no\n"+
			"C: AUTHINFO USER joe\nS: 381 more\nC: AUTHINFO PASS new\nS: 281 ok\n"+article))
		if err != nil {
			t.Fatal(err)
		}
		addr := transcript.Server(t, conv) // before the client, which is closed first
		c := drive.Client(t, &fetch.Options{Credentials: drive.Credentials(fetch.Credential{User: "joe", Password: "old"}, fetch.Credential{User: "joe", Password: "new"})},
			With(Options{AllowPlaintext: true}))
		drive.Gets(t, c, "news://"+addr+"/a@b", "A: b\r\n\r\ntext\r\n")
	}
}

func TestConnectionsAreNotSharedBetweenUsers(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: groups(1), User: "u", Password: "s3cret"})
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	drive.MustGet(t, c, "news://u:s3cret@"+s.Addr+"/1@x.invalid")
	for _, url := range []string{"news://" + s.Addr + "/1@x.invalid", "news://u:wrong@" + s.Addr + "/1@x.invalid"} {
		drive.Fails(t, c, url, fetch.ErrAuth)
	}
}
