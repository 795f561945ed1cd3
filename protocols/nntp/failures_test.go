package nntp

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

// TestNetworkFailures fails each network operation of a retrieval in turn.
func TestNetworkFailures(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	plain := nntpd.Options{Groups: groups(5)}
	with := func(change func(*nntpd.Options)) nntpd.Options {
		o := plain
		change(&o)
		return o
	}
	sparse := groups(9)
	for i := 2; i < 6; i++ {
		sparse[0].Articles[i].Text = ""
	}
	for _, tt := range []struct {
		name   string
		urls   []string // requested in sequence with the same client
		op     fetch.Op
		server nntpd.Options
		client Options
		codes  []fetch.Code
	}{
		{name: "an article", urls: []string{"news://$/1@x.invalid"}, server: plain},
		{name: "articles", urls: []string{"nntp://$/test.a/1", "nntp://$/test.a/2", "news://$/3@x.invalid"}, server: plain},
		{name: "a header", urls: []string{"nntp://$/test.a/1"}, op: fetch.OpStat, server: plain},
		{name: "a group", urls: []string{"news://$/test.a"}, op: fetch.OpList, server: plain},
		{name: "a group's last", urls: []string{"news://$/test.a"}, op: fetch.OpList, client: Options{Newest: 3},
			server: nntpd.Options{Groups: sparse}},
		{name: "a group, then an article", urls: []string{"news://$/test.a", "news://$/1@x.invalid"}, server: plain},
		{name: "a group by XOVER", urls: []string{"news://$/test.a"}, op: fetch.OpList, server: with(func(o *nntpd.Options) { o.Legacy = true })},
		{name: "a group by HEAD", urls: []string{"news://$/test.a"}, op: fetch.OpList,
			server: with(func(o *nntpd.Options) { o.Legacy, o.NoOverview = true, true })},
		{name: "groups", urls: []string{"news://$/*"}, op: fetch.OpList, server: plain},
		{name: "nothing", urls: []string{"news://$/9@x.invalid"}, server: plain},
		{name: "a login in plaintext", urls: []string{"news://u:p@$/1@x.invalid"},
			server: with(func(o *nntpd.Options) { o.User, o.Password = "u", "p" })},
		{name: "a login with STARTTLS", urls: []string{"news://u:p@$/1@x.invalid"}, codes: []fetch.Code{fetch.ErrTLS},
			server: with(func(o *nntpd.Options) { o.User, o.Password, o.TLS = "u", "p", serverTLS })},
		{name: "TLS", urls: []string{"snews://$/1@x.invalid", "snews://$/2@x.invalid"}, codes: []fetch.Code{fetch.ErrTLS},
			server: with(func(o *nntpd.Options) { o.TLS, o.Implicit = serverTLS, true })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := nntpd.Start(t, tt.server)
			fetchtest.RunFailures(t, fetchtest.Failures{Codes: tt.codes, Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
				o.TLS = clientTLS
				c := fetch.New(o, With(tt.client))
				defer c.Close()
				var all strings.Builder
				for _, url := range tt.urls {
					body, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: mustParse(t, strings.ReplaceAll(url, "$", s.Addr)), Op: tt.op}))
					all.WriteString(body)
					if err != nil {
						return []byte(all.String()), err
					}
				}
				return []byte(all.String()), nil
			}})
		})
	}
}

// TestHandshakeNetworkFailures fails each network operation of the handshakes in turn.
func TestHandshakeNetworkFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range handshakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv, err := transcript.Parse("begin", []byte("-- control --\nS: 200 hi\n"+tt.talk))
			if err != nil {
				t.Fatal(err)
			}
			fetchtest.RunFailures(t, fetchtest.Failures{Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
				addr, stop := transcript.Lenient(t, conv)
				defer stop()
				c := fetch.New(o, Load)
				defer c.Close()
				body, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: mustParse(t, "news://"+addr+"/a@b")}))
				return []byte(body), err
			}})
		})
	}
}
