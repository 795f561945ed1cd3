//go:build integration

package browser

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/protocols"
)

// TestProxyClients retrieves URLs through a proxy with programs that are not ours.
func TestProxyClients(t *testing.T) {
	files := fstest.MapFS{"docs/pear.txt": {Data: []byte("a pear")}, "docs/é.txt": {Data: []byte("e")}}
	gopher, ftp := gopherd.Start(t, gopherd.Options{Tree: files}), ftpd.Start(t, ftpd.Options{Tree: files})
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<title>web</title><p>the web, " + r.Header.Get("Via")))
	})
	web, secure := httptest.NewServer(page), httptest.NewTLSServer(page)
	t.Cleanup(web.Close)
	t.Cleanup(secure.Close)

	policy := &fetch.Policy{AllowPrivate: true, AllowSessions: true}
	direct := &fetch.Options{Policy: policy, NoProxy: "*"}
	p := &fetchhttp.Proxy{Client: fetch.New(direct, protocols.All), Tunnels: fetch.New(direct, fetchhttp.LoadTunnel)}
	t.Cleanup(func() { p.Client.Close(); p.Tunnels.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go p.Serve(t.Context(), l)
	address := fetchhttp.Address(l.Addr().String())

	python := "import urllib.request,sys; print(urllib.request.urlopen(sys.argv[1]).read())"
	chrome := []string{"--headless", "--no-sandbox", "--user-data-dir=" + filepath.Join(t.TempDir(), "profile"), "--proxy-bypass-list=<-loopback>",
		"--proxy-server=" + l.Addr().String(), "--dump-dom"}
	for _, tt := range []struct {
		program string
		args    []string
		want    string
	}{
		{"curl", []string{"-s", web.URL}, "the web, 1.1 urlget"},
		{"curl", []string{"-s", "--http1.0", ftp.URL + "/docs/"}, "pear.txt</a>"},
		{"curl", []string{"-sk", secure.URL}, "the web, "},
		{"curl", []string{"-sk", "-x", "socks5://" + l.Addr().String(), secure.URL}, "the web, "},
		{"curl", []string{"-s", "--noproxy", "*", address + "gopher/" + gopher.Addr + "/0/docs/pear.txt"}, "a pear"},
		{"lynx", []string{"-dump", gopher.URL + "/1/docs"}, "pear.txt"},
		{"lynx", []string{"-dump", gopher.URL + "/0/docs/pear.txt"}, "a pear"},
		{"lynx", []string{"-dump", "-display_charset=utf-8", ftp.URL + "/docs/"}, "é.txt"},
		{"w3m", []string{"-dump", ftp.URL + "/docs/pear.txt"}, "a pear"},
		{"w3m", []string{"-dump", web.URL}, "the web, 1.0 urlget"},
		{"python3", []string{"-c", python, ftp.URL + "/docs/pear.txt"}, "a pear"},
		{"python3", []string{"-c", python, web.URL}, "the web, 1.1 urlget"},
		{"chromium", append(chrome, web.URL), "the web, 1.1 urlget"},
	} {
		t.Run(tt.program+" "+tt.args[len(tt.args)-1], func(t *testing.T) {
			if _, err := exec.LookPath(tt.program); err != nil && os.Getenv("URLGET_LAB") == "" {
				t.Skip(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, tt.program, tt.args...)
			cmd.Env = append(os.Environ(), "http_proxy="+address, "https_proxy="+address, "ftp_proxy="+address, "gopher_proxy="+address, "no_proxy=", "LANG=C.UTF-8")
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v: %.1000q", err, out)
			}
		})
	}
}
