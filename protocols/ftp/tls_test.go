package ftp

import (
	"crypto/tls"
	"io"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

func serverTLS(version uint16) *tls.Config {
	cfg, _ := servers.Certificate()
	cfg.MaxVersion = version
	return cfg
}

func trusting() *fetch.Options {
	_, cfg := servers.Certificate()
	return &fetch.Options{TLS: cfg}
}

func TestConformanceTLS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		version uint16
		scheme  string
		client  Options
	}{
		{"explicit, TLS 1.2", tls.VersionTLS12, "ftp", Options{TLS: TLSRequire}},
		{"explicit, TLS 1.3", tls.VersionTLS13, "ftp", Options{TLS: TLSTry}},
		{"implicit", tls.VersionTLS13, "ftps", Options{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{
				Options: trusting(),
				Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
					s := ftpd.Start(t, ftpd.Options{Tree: tree, TLS: serverTLS(tt.version), Implicit: tt.scheme == "ftps", Reuse: true})
					return site(s, tree, tt.scheme+"://"+s.Addr, tt.client)
				},
			})
		})
	}
}

// TestTLSSequence checks that only AUTH is sent in plaintext, in Explain and in fact.
func TestTLSSequence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scheme string
		mode   TLSMode
		want   []string
	}{
		{"ftp", TLSRequire, []string{"AUTH TLS", "USER anonymous", "PASS ****", "PBSZ 0", "PROT P", "TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd"}},
		{"ftps", TLSOff, []string{"USER anonymous", "PASS ****", "PBSZ 0", "PROT P", "TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd"}},
	} {
		s := ftpd.Start(t, ftpd.Options{Tree: small, TLS: serverTLS(0), Implicit: tt.scheme == "ftps"})
		c := drive.Client(t, trusting(), With(Options{TLS: tt.mode}))
		req := request(fetch.OpGet, tt.scheme+"://"+s.Addr+"/motd")
		if body, _, err := drive.Do(t, c, req); body != welcome {
			t.Errorf("%s: %q, %v", tt.scheme, body, err)
		}
		if got := masked(s.Log()); !slices.Equal(got, tt.want) {
			t.Errorf("%s: the server was told %q, want %q", tt.scheme, got, tt.want)
		}
		if x, err := c.Explain(req); err != nil || !slices.Equal(x.Steps, tt.want) {
			t.Errorf("%s: Explain says %q, %v, want %q", tt.scheme, x.Steps, err, tt.want)
		}
	}
}

// TestTLSFailures checks that no failure leads to data in plaintext.
func TestTLSFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server ftpd.Options
		client *fetch.Options
		mode   TLSMode
	}{
		{"unknown authority", ftpd.Options{TLS: serverTLS(0)}, nil, TLSRequire},
		{"unknown authority, not required", ftpd.Options{TLS: serverTLS(0)}, nil, TLSTry},
		{"no TLS", ftpd.Options{}, trusting(), TLSRequire},
		{"no TLS after all", ftpd.Options{Replies: map[string]string{"AUTH": "234 begin\r\n"}}, trusting(), TLSTry},
		{"no protection of data", ftpd.Options{TLS: serverTLS(0), Unknown: []string{"PROT"}}, trusting(), TLSTry},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.server.Tree = small
			s := ftpd.Start(t, tt.server)
			o := fetch.Options{}
			if tt.client != nil {
				o = *tt.client
			}
			o.Timeouts = fetch.Timeouts{Connect: 20 * time.Second, Reply: 5 * time.Second}
			c := drive.Client(t, &o, With(Options{TLS: tt.mode}))
			drive.Fails(t, c, "ftp://"+s.Addr+"/motd", fetch.ErrTLS)
			if slices.Contains(s.Log(), "RETR motd") {
				t.Error("the file was asked for")
			}
		})
	}
}

// TestDataWithoutCloseNotify ends data connections without the close_notify of TLS, after all data or
// the first half, and confirms the transfer.
func TestDataWithoutCloseNotify(t *testing.T) {
	t.Parallel()
	const line = "-rw-r--r-- 1 u g 6 Jan  2 2020 a.txt\r\n"
	for _, tt := range []struct {
		name, path string
		op         fetch.Op
		server     ftpd.Options
		part       fetch.Range
		want       string // the content or the entries
		code       fetch.Code
	}{
		{name: "known size", path: "/motd", want: welcome},
		{name: "the rest, known size", path: "/motd", part: fetch.Range{Offset: 3}, want: welcome[3:]},
		{name: "a part", path: "/motd", part: fetch.Range{Offset: 3, Length: 2}, want: welcome[3:5]},
		{name: "wrong size", path: "/motd", server: ftpd.Options{Sizes: map[string]int64{"motd": 20}}, code: fetch.ErrTruncated},
		{name: "unknown size", path: "/motd", server: ftpd.Options{Unknown: []string{"SIZE"}}, code: fetch.ErrTruncated},
		{name: "announced size", path: "/motd", server: ftpd.Options{Unknown: []string{"SIZE"}, Announce: true}, want: welcome},
		{name: "text", path: "/motd;type=a", code: fetch.ErrTruncated},
		{name: "listing", path: "/pub/", op: fetch.OpList, want: "object a.txt\nerror " + cutListing + "\n",
			server: ftpd.Options{Unknown: []string{"MLSD"}, Listing: func(string, string) (string, string) { return line, "" }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.server.Tree, tt.server.TLS, tt.server.NoNotify = small, serverTLS(0), true
			s := ftpd.Start(t, tt.server)
			c := drive.Client(t, trusting(), With(Options{TLS: TLSRequire}))
			req := request(tt.op, s.URL+tt.path)
			req.Range = tt.part
			resp, err := c.Do(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got := ""
			if tt.op == fetch.OpList {
				for e, err2 := range resp.Entries {
					if err = err2; err == nil {
						got += e.Kind.String() + " " + e.Name + "\n"
					}
				}
			} else {
				var b []byte
				b, err = io.ReadAll(resp.Body)
				got = string(b)
			}
			if fetch.CodeOf(err) != tt.code || err == nil && got != tt.want {
				t.Errorf("%q, %v; want %q, %v", got, err, tt.want, tt.code)
			}
		})
	}
}
