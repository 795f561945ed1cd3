package ftp

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// small is a tree for tests: a file, and files below directories with names as difficult as those
// in RFC 1738.
var small = fstest.MapFS{
	"motd":            {Data: []byte("Welcome.\n"), ModTime: modTime},
	"etc/motd":        {Data: []byte("Welcome to etc.\n"), ModTime: modTime},
	"pub/a.txt":       {Data: []byte("one\r\ntwo\r\n"), ModTime: modTime},
	"pub/b.txt":       {Data: []byte("bee\n"), ModTime: modTime},
	"pub/c*.bin":      {Data: []byte("star\n"), ModTime: modTime},
	"pub/sub/d.txt":   {Data: []byte("dee\n"), ModTime: modTime},
	"with space/e/.f": {Data: []byte("eff\n"), ModTime: modTime},
}

var modTime = time.Date(1999, time.December, 31, 23, 59, 58, 0, time.UTC)

func request(op fetch.Op, rawURL string) *fetch.Request {
	return &fetch.Request{Op: op, URL: uri.MustParse(rawURL)}
}

// TestSequence compares the commands with RFC 1738, section 3.2.2, and with Explain.
func TestSequence(t *testing.T) {
	t.Parallel()
	anonymous := []string{"USER anonymous", "PASS ****"}
	tests := []struct {
		name string
		op   fetch.Op
		url  string // after "ftp://HOST"
		opts Options
		req  fetch.Request
		want []string // after the login
	}{
		{name: "file", url: "/motd", want: []string{"TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd"}},
		{name: "RFC 1738, relative", url: "/etc/motd", want: []string{"PWD", "CWD etc", "TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd"}},
		{name: "RFC 1738, absolute", url: "/%2Fetc/motd", want: []string{"PWD", "CWD /etc", "TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd"}},
		{name: "RFC 1738, null argument", url: "//etc/motd", want: []string{"PWD", "CWD ", "CWD etc", "TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd"}},
		{name: "each segment", url: "/with%20space/e/.f", want: []string{"PWD", "CWD with space", "CWD e", "TYPE I", "SIZE .f", "MDTM .f", "EPSV", "RETR .f"}},
		{name: "ascii", url: "/pub/a.txt;type=a", want: []string{"PWD", "CWD pub", "TYPE A", "MDTM a.txt", "EPSV", "RETR a.txt"}},
		{name: "image", url: "/motd;type=i", want: []string{"TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd"}},
		{name: "RFC 1630, ascii with carriage control", url: "/motd;type=AC", want: []string{"TYPE A C", "MDTM motd", "EPSV", "RETR motd"}},
		{name: "RFC 1630, ebcdic", url: "/motd;type=E", want: []string{"TYPE E", "MDTM motd", "EPSV", "RETR motd"}},
		{name: "RFC 1630, local", url: "/motd;type=L8", want: []string{"TYPE L 8", "MDTM motd", "EPSV", "RETR motd"}},
		{name: "names", url: "/pub;type=d", want: []string{"EPSV", "NLST pub"}},
		{name: "names of where we are", url: "/pub/;type=d", want: []string{"PWD", "CWD pub", "EPSV", "NLST"}},
		{name: "directory", url: "/pub/", want: []string{"FEAT", "PWD", "CWD pub", "EPSV", "MLSD"}},
		{name: "root", url: "", want: []string{"FEAT", "EPSV", "MLSD"}},
		{name: "list what looks like a file", op: fetch.OpList, url: "/pub", want: []string{"FEAT", "PWD", "CWD pub", "EPSV", "MLSD"}},
		{name: "pattern", url: "/pub/*.txt", want: []string{"FEAT", "PWD", "CWD pub", "EPSV", "MLSD"}},
		{name: "no pattern", url: "/pub/c%2A.bin", want: []string{"PWD", "CWD pub", "TYPE I", "SIZE c*.bin", "MDTM c*.bin", "EPSV", "RETR c*.bin"}},
		{name: "stat", op: fetch.OpStat, url: "/etc/motd", want: []string{"PWD", "CWD etc", "TYPE I", "SIZE motd", "MDTM motd"}},
		{name: "stat of a directory", op: fetch.OpStat, url: "/etc/", want: []string{"PWD", "CWD etc"}},
		{name: "part", url: "/motd", req: fetch.Request{Range: fetch.Range{Offset: 3}}, want: []string{"TYPE I", "SIZE motd", "MDTM motd", "EPSV", "REST 3", "RETR motd"}},
		{name: "no part of text", url: "/motd;type=a", req: fetch.Request{Range: fetch.Range{Offset: 3}}, want: []string{"TYPE A", "MDTM motd", "EPSV", "RETR motd"}},
		{name: "guessed type", url: "/pub/a.txt", opts: Options{GuessType: true}, want: []string{"PWD", "CWD pub", "TYPE A", "MDTM a.txt", "EPSV", "RETR a.txt"}},
		{name: "if changed", url: "/motd", req: fetch.Request{IfChanged: fetch.Validator{ModTime: time.Unix(1, 0)}},
			want: []string{"TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: small})
			c := drive.Client(t, nil, With(tt.opts))
			req := tt.req
			req.Op, req.URL = tt.op, uri.MustParse("ftp://"+s.Addr+tt.url)
			if _, _, err := drive.Do(t, c, &req); err != nil {
				t.Fatal(err)
			}
			got := masked(s.Log())
			want := append(slices.Clone(anonymous), tt.want...)
			if !slices.Equal(got, want) {
				t.Errorf("the server was told\n%q, want\n%q", got, want)
			}
			x, err := c.Explain(&req)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(x.Steps, got) {
				t.Errorf("Explain says\n%q, and the server was told\n%q", x.Steps, got)
			}
		})
	}
}

// masked returns the log without secrets.
func masked(log []string) []string {
	for i, line := range log {
		for _, verb := range []string{"PASS ", "ACCT "} {
			if strings.HasPrefix(line, verb) {
				log[i] = verb + "****"
			}
		}
	}
	return log
}

// TestActiveSequence checks the sequence whose address is not known in advance.
func TestActiveSequence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		unknown []string
		want    []string
	}{
		{"EPRT", nil, []string{"TYPE I", "SIZE motd", "MDTM motd", "EPRT |1|127.0.0.1|", "RETR motd"}},
		{"PORT", []string{"EPRT"}, []string{"TYPE I", "SIZE motd", "MDTM motd", "EPRT |1|127.0.0.1|", "PORT 127,0,0,1,", "RETR motd"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: small, Unknown: tt.unknown})
			c := drive.Client(t, nil, With(Options{Active: true}))
			body, err := drive.Get(t, c, "ftp://"+s.Addr+"/motd")
			if err != nil || body != "Welcome.\n" {
				t.Fatalf("%q, %v", body, err)
			}
			got := s.Log()[2:]
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			x, err := c.Explain(request(fetch.OpGet, "ftp://"+s.Addr+"/motd"))
			if err != nil || !slices.Contains(x.Steps, "EPRT |1|<address>|<port>|") {
				t.Errorf("Explain: %q, %v", x.Steps, err)
			}
		})
	}
}

// TestIPv6 retrieves over IPv6, which PASV and PORT do not support.
func TestIPv6(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6: ", err)
	}
	l.Close()
	for _, tt := range []struct {
		name   string
		active bool
		lacks  []string
		want   []string // of the data connection
		code   fetch.Code
	}{
		{name: "passive", want: []string{"EPSV", "RETR motd"}},
		{name: "active", active: true, want: []string{"EPRT |2|::1|", "RETR motd"}},
		{name: "passive, with PASV only", lacks: []string{"EPSV"}, want: []string{"EPSV", "PASV", "RETR motd"}},
		{name: "active, with PORT only", active: true, lacks: []string{"EPRT"}, want: []string{"EPRT |2|::1|"}, code: fetch.ErrRefused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: small, Listen: "[::1]:0", Unknown: tt.lacks})
			c := drive.Client(t, nil, With(Options{Active: tt.active}))
			if body, err := drive.Get(t, c, "ftp://"+s.Addr+"/motd"); fetch.CodeOf(err) != tt.code || err == nil && body != "Welcome.\n" {
				t.Errorf("%q, %v", body, err)
			}
			if got := s.Log()[5:]; !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestReuse follows one connection through several retrievals.
func TestReuse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		unlike map[string]string
		urls   []string
		want   string
		logins int
	}{
		{"same directory", nil, []string{"/pub/a.txt", "/pub/b.txt"},
			"PWD, CWD pub, TYPE I, SIZE a.txt, MDTM a.txt, EPSV, RETR a.txt, SIZE b.txt, MDTM b.txt, EPSV, RETR b.txt", 1},
		{"below it", nil, []string{"/pub/a.txt", "/pub/sub/d.txt"},
			"PWD, CWD pub, TYPE I, SIZE a.txt, MDTM a.txt, EPSV, RETR a.txt, CWD sub, SIZE d.txt, MDTM d.txt, EPSV, RETR d.txt", 1},
		{"another, by way of the login's", nil, []string{"/pub/a.txt", "/etc/motd"},
			"PWD, CWD pub, TYPE I, SIZE a.txt, MDTM a.txt, EPSV, RETR a.txt, CWD /, CWD etc, SIZE motd, MDTM motd, EPSV, RETR motd", 1},
		{"no way back", map[string]string{"PWD": "550 Where?\r\n"}, []string{"/pub/a.txt", "/etc/motd"},
			"PWD, CWD pub, TYPE I, SIZE a.txt, MDTM a.txt, EPSV, RETR a.txt, QUIT, " +
				"USER anonymous, PASS ****, PWD, CWD etc, TYPE I, SIZE motd, MDTM motd, EPSV, RETR motd", 2},
		{"after a listing", nil, []string{"/pub/a.txt", "/pub/"},
			"PWD, CWD pub, TYPE I, SIZE a.txt, MDTM a.txt, EPSV, RETR a.txt, FEAT, TYPE A, EPSV, MLSD", 1},
		{"after a missing directory", nil, []string{"/pub/a.txt", "/none/sub/a.txt", "/pub/b.txt"},
			"PWD, CWD pub, TYPE I, SIZE a.txt, MDTM a.txt, EPSV, RETR a.txt, CWD /, CWD none, CWD sub, SIZE a.txt, MDTM a.txt, EPSV, " +
				"CWD /, CWD pub, TYPE I, SIZE b.txt, MDTM b.txt, EPSV, RETR b.txt", 1},
		{"after a refusal", nil, []string{"/pub/none", "/pub/a.txt"},
			"PWD, CWD pub, TYPE I, SIZE none, MDTM none, EPSV, RETR none, SIZE a.txt, MDTM a.txt, EPSV, RETR a.txt", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: small, Replies: tt.unlike})
			c := drive.Client(t, nil, Load)
			for _, u := range tt.urls {
				if _, err := drive.Get(t, c, "ftp://"+s.Addr+u); err != nil && !errors.Is(err, fetch.ErrNotFound) {
					t.Fatal(err)
				}
			}
			log := masked(s.Log())[2:]
			log = slices.DeleteFunc(log, func(line string) bool { return line == "QUIT" })
			want := strings.Split(strings.ReplaceAll(tt.want, ", QUIT", ""), ", ")
			if !slices.Equal(log, want) {
				t.Errorf("the server was told\n%q, want\n%q", log, want)
			}
			if s.Logins() != tt.logins {
				t.Errorf("%d logins, want %d", s.Logins(), tt.logins)
			}
		})
	}
}

// TestStaleConnection checks that a pooled connection which the server has closed is replaced.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	c := drive.Client(t, nil, Load)
	for range 3 {
		drive.Gets(t, c, "ftp://"+s.Addr+"/motd", "Welcome.\n")
		s.CloseClientConnections()
	}
	if s.Logins() != 3 {
		t.Errorf("%d logins, want 3", s.Logins())
	}
}

// TestOneByOne checks that a server which loses pipelined commands receives one command at a time.
func TestOneByOne(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small, OneByOne: true})
	c := drive.Client(t, nil, Load)
	for range 2 {
		drive.Gets(t, c, "ftp://"+s.Addr+"/etc/motd", "Welcome to etc.\n")
	}
	if s.Logins() != 2 {
		t.Errorf("%d logins, want 2: one with commands sent together, one without", s.Logins())
	}
}
