package fetchhttp

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A client that begins TLS late does not get past the proxy on the port of https.
func TestLateTLSIsRecognized(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		port  string
		after time.Duration
		first byte
		want  bool
	}{
		{"443", 0, tlsHandshake, true},
		{"443", httpsTime - 1, tlsHandshake, true},
		{"443", 0, 'G', false},
		{"443", httpsTime + 1, tlsHandshake, false},
		{"8443", peekTime - 1, tlsHandshake, true},
		{"8443", peekTime + 1, tlsHandshake, false}, // the server may speak first
	} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			begin := time.AfterFunc(tt.after, func() { client.Write([]byte{tt.first}) })
			defer client.Close()
			defer server.Close()
			defer begin.Stop()
			if _, got := speaksTLS(server, tt.port); got != tt.want {
				t.Errorf("port %s, %#x after %v: %t", tt.port, tt.first, tt.after, got)
			}
		})
	}
}
