package main

import (
	"context"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/external"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/ldap"
	"github.com/urlget/urlget/protocols/mailto"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/pop"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/protocols/telnet"
	"github.com/urlget/urlget/protocols/ws"
	"github.com/urlget/urlget/protocols/z3950"
)

// minConns is the number of connections per server that each driver may always open.
const minConns = 4

func composeDraft(u uri.URI) ([]byte, error) { return mailto.Draft(u) }

func (n *network) driverConfig() protocols.Config {
	d, p := &n.opts.Driver, n.dialog.Prompt
	piped := !n.dialog.input.Terminal() // piped text; sessions end lines with CR LF
	web := &d.Web
	web.MaxIdle = d.Conns
	if n.opts.Grows() {
		web.MaxIdle = max(d.Conns, flags.MaxGrow)
	}
	switch {
	case d.HTTP1:
		web.Protocols = http.HTTP1
	case d.HTTP2:
		web.Protocols = http.HTTP2
	case d.HTTP3:
		web.Protocols = http.HTTP3
	}
	if n.jar != nil {
		web.Jar = n.jar
	}
	web.HSTS = n.hsts
	var wantsHTTPS func(host string) bool
	if n.hsts != nil {
		wantsHTTPS = n.hsts.Has
	}
	d.SSH.User = n.opts.Login.User
	d.SSH.TrustKey = func(ctx context.Context, key sftp.HostKey) (bool, error) {
		if !p.Possible() {
			return false, nil
		}
		answer, err := p.Ask(ctx,
			"Unknown SSH server "+key.Host+". Its key is\n"+key.Fingerprint+" ("+key.Type+").\n"+
				"Trust this key from now on (yes/no)? ", false)
		return strings.EqualFold(strings.TrimSpace(answer), "yes"), err
	}
	d.SSH.Passphrase = n.dialog.askPassphrase
	if d.Conns > minConns {
		d.FTP.MaxConns, d.News.MaxConns = d.Conns, d.Conns
	}
	if n.opts.HostsGrow() {
		d.FTP.MaxConns = max(d.Conns, flags.MaxLogins)
	}
	return protocols.Config{
		External: &external.Options{Programs: d.Programs},
		FTP:      &d.FTP,
		Gemini:   &d.Gemini,
		Gopher:   &d.Gopher,
		HTTP:     web,
		IPFS:     &d.IPFS,
		IMAP:     &imap.Options{StartTLS: d.News.StartTLS, AllowPlaintext: d.News.AllowPlaintext},
		LDAP:     &ldap.Options{StartTLS: d.News.StartTLS, AllowPlaintext: d.News.AllowPlaintext},
		Mailto:   &mailto.Options{Mailboxes: d.Mailboxes},
		Mid:      &mid.Options{Mailboxes: d.Mailboxes},
		NFS:      &d.NFS,
		NNTP:     &d.News,
		Z3950:    &z3950.Options{AllowPlaintext: d.News.AllowPlaintext},
		POP:      &pop.Options{StartTLS: d.News.StartTLS, AllowPlaintext: d.News.AllowPlaintext},
		S3:       &d.S3,
		SFTP:     &d.SSH,
		WAIS:     &d.WAIS,
		WS:       &ws.Options{Jar: web.Jar, HTTPSOnly: wantsHTTPS},
		Telnet: &telnet.Options{CRLF: piped, Login: d.Login, TermType: d.TermType,
			Transcript: n.transcript.writer(d.Transcript)},
	}
}
