//go:build integration

package soak

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/prospero"
)

// newClient returns a client with the short timeouts that suffice for the lab.
func newClient(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *fetch.Client {
	return fetch.New(&fetch.Options{
		TLS:         &tls.Config{RootCAs: lab.CA(), ServerName: "localhost"},
		DialContext: dial,
		Timeouts:    fetch.Timeouts{Connect: 10 * time.Second, Reply: 5 * time.Second, Idle: 3 * time.Second},
	}, protocols.With(protocols.Config{
		Prospero: &prospero.Options{First: 200 * time.Millisecond, Tries: 4},
	}))
}

// A target is a URL and its expected content.
type target struct {
	url  string
	want []byte // nil until learned
}

func (to target) checksum() string {
	sum := sha256.Sum256(to.want)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// learn retrieves the target without faults. For generated content, the first response is the
// reference.
func (to *target) learn(ctx context.Context, c *fetch.Client) error {
	resp, err := c.Get(ctx, to.url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if to.want == nil {
		to.want = got
	}
	if !bytes.Equal(got, to.want) {
		return fmt.Errorf("%s: %d bytes differ from the file of %d bytes", to.url, len(got), len(to.want))
	}
	return nil
}

// soakFiles are the files that are retrieved from each file server.
var soakFiles = []string{"hello.txt", "octets.bin", "empty.bin", "one.bin", "65537.bin", "large.bin", "text/long.txt", "many/file-0500.txt"}

// startTargets starts the servers, except those that are not available.
func startTargets(t *testing.T) []target {
	content := map[string][]byte{}
	for _, f := range lab.Fixture() {
		content[f.Name] = f.Bytes()
	}
	var all []target
	for server, roots := range map[string]func(s *lab.Server) []string{
		"nginx":     func(s *lab.Server) []string { return []string{"http://" + s.Addr("plain"), "https://" + s.Addr("tls")} },
		"vsftpd":    func(s *lab.Server) []string { return []string{"ftp://" + s.Addr("plain"), "ftps://" + s.Addr("tls")} },
		"proftpd":   func(s *lab.Server) []string { return []string{"ftp://" + s.Addr("plain")} },
		"pygopherd": func(s *lab.Server) []string { return []string{"gophers://" + s.Addr("tls") + "/9"} },
		"prosperod": func(s *lab.Server) []string { return []string{"prospero://" + s.Addr("plain") + "/"} },
	} {
		s := lab.Start(t, server)
		for _, root := range roots(s) {
			for _, name := range soakFiles {
				if server == "prosperod" && name == "large.bin" {
					continue // a reply has at most 65535 packets, and is held in memory
				}
				all = append(all, target{root + "/" + name, content[name]})
			}
		}
	}
	gopher := lab.Start(t, "gophernicus")
	for _, name := range []string{"octets.bin", "65537.bin", "large.bin"} { // text mode changes line ends
		all = append(all, target{"gopher://" + gopher.Addr("plain") + "/9/" + name, content[name]})
	}
	wais := lab.Start(t, "waisd")
	for _, name := range []string{"long.txt", "lf.txt", "latin1.txt"} {
		all = append(all, target{waisd.DocumentURL(wais.Addr("plain"), "text", name), content["text/"+name]})
	}
	inn := lab.Start(t, "inn")
	for _, id := range []string{"plain", "dots", "long"} {
		all = append(all, target{"news://" + inn.Addr("plain") + "/" + id + "@lab.invalid", nil},
			target{"snews://" + inn.Addr("tls") + "/" + id + "@lab.invalid", nil})
	}
	all = append(all, target{"finger://" + lab.Start(t, "fingerd").Addr("plain") + "/labuser", nil},
		target{"whois://" + lab.Start(t, "whois").Addr("plain") + "/example.test", nil})
	return all
}
