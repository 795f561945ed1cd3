package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
)

// reportConnections returns a Recorder that prints connections and server certificates. A line equal
// to the last one is not repeated.
func reportConnections(c *tty.Console) fetch.Recorder {
	var mu sync.Mutex
	last := ""
	report := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if text != last {
			last = text
			c.Warn(text)
		}
	}
	return fetch.RecorderFunc(func(_ context.Context, req *fetch.Request) *fetch.Recording {
		host := req.URL.Host()
		return &fetch.Recording{Peer: func(_ int, addr net.Addr, state *tls.ConnectionState) {
			if state == nil {
				report(fmt.Sprintf("%s: connected to %s", host, addr))
				return
			}
			report(fmt.Sprintf("%s: %s with %s", host, addr, describeTLS(state)))
		}}
	})
}

func describeTLS(state *tls.ConnectionState) string {
	text := tls.VersionName(state.Version)
	if len(state.PeerCertificates) == 0 {
		return text
	}
	cert := state.PeerCertificates[0]
	text += ", a certificate"
	if names := namesOf(cert); names != "" {
		text += " for " + names
	}
	text += " by " + cert.Issuer.String() + ", until " + cert.NotAfter.Format(time.DateOnly)
	if len(state.VerifiedChains) == 0 {
		text += ", not verified by an authority"
	}
	return text
}

func namesOf(c *x509.Certificate) string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) > 3 {
		names = append(names[:3], "others")
	}
	return strings.Join(names, ", ")
}
