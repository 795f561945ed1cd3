package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
)

// narrate returns a Recorder that tells which servers are spoken to, and by which certificates they
// are known. What is the same as the last time is not told again.
func narrate(c *tty.Console) fetch.Recorder {
	var mu sync.Mutex
	last := ""
	tell := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if text != last {
			last = text
			c.Warn(text)
		}
	}
	return func(_ context.Context, req *fetch.Request) *fetch.Recording {
		host := req.URL.Host()
		return &fetch.Recording{Peer: func(_ int, addr net.Addr, state *tls.ConnectionState) {
			if state == nil {
				tell(fmt.Sprintf("%s: connected to %s", host, addr))
				return
			}
			tell(fmt.Sprintf("%s: %s with %s", host, addr, tlsWords(state)))
		}}
	}
}

// tlsWords tells the version of TLS, and of the certificate for whom, by whom and until when it is.
func tlsWords(state *tls.ConnectionState) string {
	text := tls.VersionName(state.Version)
	if len(state.PeerCertificates) == 0 {
		return text
	}
	cert := state.PeerCertificates[0]
	text += ", a certificate" + strings.Replace(namesOf(cert), ", but for", " for", 1) +
		" by " + cert.Issuer.String() + ", until " + cert.NotAfter.Format(time.DateOnly)
	if len(state.VerifiedChains) == 0 {
		text += ", which was not checked against authorities"
	}
	return text
}
