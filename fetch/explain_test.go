package fetch_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// explaining is a driver that implements Explain.
type explaining struct{ fetch.DriverFunc }

func (explaining) Explain(req *fetch.Request) ([]string, error) {
	if req.URL.Path() == "/odd" {
		return nil, fetch.ErrURL
	}
	return []string{"say " + req.URL.Path()}, nil
}

// A keyring is a provider that implements CredentialSource.
type keyring struct{}

func (keyring) Credential(context.Context, fetch.Challenge) (fetch.Credential, error) {
	return fetch.Credential{}, errors.New("asked")
}

func (keyring) Source(ch fetch.Challenge) string {
	if ch.URL.Host() == "known" {
		return "keyring"
	}
	return ""
}

func TestExplain(t *testing.T) {
	t.Parallel()
	o := &fetch.Options{
		Proxy: func(u uri.URI) (uri.URI, error) {
			if u.Host() == "far" {
				return uri.MustParse("socks5://p:1080"), nil
			}
			return uri.URI{}, nil
		},
		Credentials: fetch.ChainCredentials(namedProvider("a", true), keyring{}),
		Gateways:    map[string]string{"wais": "x-say://gw/"},
		DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			t.Errorf("Explain dials %s", addr)
			return nil, errors.New("no")
		},
	}
	c := fetch.New(o, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-say", Port: 7777, Ops: []fetch.Op{fetch.OpGet}, Driver: explaining{nop}})
	}, fetch.Use("x-mute", nop))
	tests := []struct {
		url                                   string
		gateway, proxy, address, source, step string
		code                                  fetch.Code
		refused                               bool
	}{
		{url: "x-say://h/p", address: "h:7777", step: "say /p"},
		{url: "x-say://[::1]:8888/p", address: "[::1]:8888", step: "say /p"},
		{url: "x-say://far/p", proxy: "socks5://p:1080", address: "far:7777", step: "say /p"},
		{url: "x-say://u:p@h/p", address: "h:7777", source: "URL", step: "say /p"},
		{url: "x-say://u@h/p", address: "h:7777", source: "URL (user name only)", step: "say /p"},
		{url: "x-say://u@known/p", address: "known:7777", source: "keyring", step: "say /p"},
		{url: "x-say:p", step: "say p"},
		{url: "wais://h/db", gateway: "x-say://gw/h/db", address: "gw:7777", step: "say /h/db"},
		{url: "x-say://h:25/p", refused: true, address: "h:25", step: "say /p"},
		{url: "x-say://h/odd", address: "h:7777", code: fetch.ErrURL},
		{url: "x-mute://h:1/p", refused: true, address: "h:1"},
		{url: "x-mute://h/p"},
		{url: "foo://h/p", code: fetch.ErrScheme},
	}
	for _, tt := range tests {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(tt.url)})
		if fetch.CodeOf(err) != tt.code {
			t.Errorf("%s: error %v, want class %q", tt.url, err, tt.code)
		}
		if x.Gateway.String() != tt.gateway || x.Proxy.String() != tt.proxy || x.Address != tt.address ||
			x.Credentials != tt.source || strings.Join(x.Steps, "\n") != tt.step {
			t.Errorf("%s: %+v", tt.url, x)
		}
		if (x.Refused != nil) != tt.refused || tt.refused && !errors.Is(x.Refused, fetch.ErrPolicy) {
			t.Errorf("%s: refused: %v", tt.url, x.Refused)
		}
	}
}
