//go:build integration

package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetchtest/faultproxy"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/prospero"
)

// A row is a resource of a server.
type row struct {
	name, server string
	url          func(*lab.Server) string
	file         string // file of the fixture tree for the URL; "" if it is not one of them
	config       protocols.Config
	configFor    func(testing.TB, *lab.Server) protocols.Config // replaces config
	verified     bool                                           // changed bytes are detected
}

// reliabilityRows are the rows of the table in docs/reliability.md.
var reliabilityRows = []row{
	{name: "http", server: "nginx", file: "large.bin",
		url: func(s *lab.Server) string { return "http://" + s.Addr("plain") + "/large.bin" }},
	{name: "https, HTTP/1.1", server: "nginx", file: "large.bin", verified: true,
		config: protocols.Config{HTTP: &http.Options{Protocols: http.HTTP1}},
		url:    func(s *lab.Server) string { return "https://" + s.Addr("tls") + "/large.bin" }},
	{name: "https, HTTP/2", server: "nginx", file: "large.bin", verified: true,
		url: func(s *lab.Server) string { return "https://" + s.Addr("tls") + "/large.bin" }},
	{name: "ftp", server: "vsftpd", file: "large.bin",
		url: func(s *lab.Server) string { return "ftp://" + s.Addr("plain") + "/large.bin" }},
	{name: "ftps", server: "vsftpd", file: "large.bin", verified: true,
		url: func(s *lab.Server) string { return "ftps://" + s.Addr("tls") + "/large.bin" }},
	{name: "gopher", server: "gophernicus", file: "large.bin",
		url: func(s *lab.Server) string { return "gopher://" + s.Addr("plain") + "/9/large.bin" }},
	{name: "gopher, Gopher+", server: "pygopherd", file: "large.bin",
		url: func(s *lab.Server) string { return gopherURL("gopher", s.Addr("plain"), "+", emptyFS, "large.bin") }},
	{name: "gophers", server: "pygopherd", file: "large.bin", verified: true,
		url: func(s *lab.Server) string { return "gophers://" + s.Addr("tls") + "/9/large.bin" }},
	{name: "news", server: "inn",
		url: func(s *lab.Server) string { return "news://" + s.Addr("plain") + "/long@lab.invalid" }},
	{name: "snews", server: "inn", verified: true,
		url: func(s *lab.Server) string { return "snews://" + s.Addr("tls") + "/long@lab.invalid" }},
	{name: "sftp", server: "openssh", file: "large.bin", verified: true,
		configFor: func(t testing.TB, s *lab.Server) protocols.Config {
			opts := sftpOptions(t, s)
			return protocols.Config{SFTP: &opts}
		},
		url: func(s *lab.Server) string {
			return "sftp://" + lab.User + ":" + lab.Password + "@" + s.Addr("ssh") + "/~/large.bin"
		}},
	{name: "nfs", server: "ganesha", file: "large.bin",
		configFor: func(t testing.TB, s *lab.Server) protocols.Config {
			opts := nfsOptions(t, s)
			return protocols.Config{NFS: &opts}
		},
		url: func(s *lab.Server) string { return nfsRoot(s) + "/large.bin" }},
	{name: "smb", server: "samba", file: "large.bin", verified: true,
		url: func(s *lab.Server) string {
			return "smb://" + lab.User + ":" + lab.Password + "@" + s.Addr("smb") + "/lab/large.bin"
		}},
	{name: "rsync", server: "rsync", file: "large.bin", verified: true,
		url: func(s *lab.Server) string { return "rsync://" + s.Addr("plain") + "/lab/large.bin" }},
	{name: "gemini", server: "molly-brown", file: "large.bin", verified: true,
		configFor: func(t testing.TB, _ *lab.Server) protocols.Config {
			return protocols.Config{Gemini: &gemini.Options{Certificates: filepath.Join(t.TempDir(), "certificates")}}
		},
		url: func(s *lab.Server) string { return "gemini://localhost:" + s.Port("plain") + "/large.bin" }},
	{name: "spartan", server: "pygopherd", file: "large.bin",
		url: func(s *lab.Server) string { return "spartan://" + s.Addr("plain") + "/large.bin" }},
	{name: "pop, STLS", server: "dovecot", verified: true,
		url: func(s *lab.Server) string {
			return "pop://" + lab.User + ":" + lab.Password + "@" + s.Addr("pop") + "/1"
		}},
	{name: "imap, STARTTLS", server: "dovecot", verified: true,
		url: func(s *lab.Server) string {
			return "imap://" + lab.User + ":" + lab.Password + "@" + s.Addr("imap") + "/INBOX/;UID=1"
		}},
	{name: "wais", server: "waisd", file: "text/long.txt",
		url: func(s *lab.Server) string { return waisd.DocumentURL(s.Addr("plain"), "text", "long.txt") }},
	{name: "prospero", server: "prosperod", file: "65537.bin",
		config: protocols.Config{Prospero: &prospero.Options{First: 100 * time.Millisecond, Tries: 3}},
		url:    func(s *lab.Server) string { return "prospero://" + s.Addr("plain") + "//65537.bin" }},
	{name: "dict", server: "dictd",
		url: func(s *lab.Server) string { return "dict://" + s.Addr("plain") + "/d:verse" }},
	{name: "ldap", server: "slapd",
		url: func(s *lab.Server) string { return "ldap://" + s.Addr("plain") + "/dc=lab,dc=test??sub" }},
	{name: "ldaps", server: "slapd", verified: true,
		url: func(s *lab.Server) string { return "ldaps://" + s.Addr("tls") + "/dc=lab,dc=test??sub" }},
	{name: "z39.50", server: "ztest",
		url: func(s *lab.Server) string { return "z39.50s://" + s.Addr("plain") + "/Default?24;item=3" }},
	{name: "z39.50 from Zebra", server: "zebra",
		url: func(s *lab.Server) string { return "z39.50s://" + s.Addr("plain") + "/Library?plums;item=1" }},
	{name: "finger", server: "fingerd",
		url: func(s *lab.Server) string { return "finger://" + s.Addr("plain") + "/labuser" }},
	{name: "whois", server: "whois",
		url: func(s *lab.Server) string { return "whois://" + s.Addr("plain") + "/example.test" }},
}

// emptyFS is a file system without files, for names that are known to be files.
var emptyFS = os.DirFS(os.DevNull)

// Outcomes of a download, apart from errors.
const (
	whole   = "whole"
	short   = "short, unverifiable"
	altered = "altered"
)

// detected is the outcome for changed bytes if the caller has a checksum.
var detected = "altered; with a checksum: " + fetch.ErrChecksum.Error()

// faultErrors maps faults to the error classes that they may cause.
var faultErrors = map[faultproxy.Kind][]fetch.Code{
	faultproxy.Stall:     {fetch.ErrNetwork, fetch.ErrTruncated},
	faultproxy.Cut:       {fetch.ErrNetwork, fetch.ErrTruncated},
	faultproxy.Reset:     {fetch.ErrNetwork, fetch.ErrTruncated},
	faultproxy.HalfClose: {fetch.ErrNetwork, fetch.ErrTruncated},
	faultproxy.Flip:      {fetch.ErrNetwork, fetch.ErrTruncated, fetch.ErrTLS, fetch.ErrProtocol},
	faultproxy.Duplicate: {fetch.ErrNetwork, fetch.ErrTruncated, fetch.ErrTLS, fetch.ErrProtocol},
}

// A trial is one download from one server with one fault.
type trial struct {
	url          string
	want         []byte
	config       protocols.Config
	verified     bool
	fault        faultproxy.Fault
	limit        int
	checksum     string
	longTimeouts bool // longer timeouts than in the table
}

// timeout returns the client's timeout. Without a stall, only a busy machine needs it.
func (tr trial) timeout() time.Duration {
	if tr.longTimeouts || tr.fault.Kind == faultproxy.None || tr.fault.Kind == faultproxy.Delay || tr.fault.Kind == faultproxy.Chop {
		return 10 * time.Second
	}
	return 1500 * time.Millisecond
}

// run returns the outcome of the download and the proxy used. It fails the test if the outcome is
// not allowed.
func (tr trial) run(t *testing.T) (outcome string, p *faultproxy.Proxy, got []byte) {
	p = &faultproxy.Proxy{Limit: tr.limit, Pick: func() faultproxy.Fault { return tr.fault }}
	defer p.Close()
	c := fetch.New(&fetch.Options{
		TLS:         &tls.Config{RootCAs: lab.CA(), ServerName: "localhost"},
		DialContext: p.DialContext,
		Timeouts:    fetch.Timeouts{Connect: 5 * time.Second, Reply: tr.timeout(), Idle: tr.timeout()},
	}, protocols.With(tr.config))
	defer c.Close()
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Error(err)
		return "", p, nil
	}
	defer dir.Close()
	hang := errors.New("the download hangs")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 25*time.Second+4*tr.timeout(), hang)
	defer cancel()
	d := download.Downloader{Client: c, Root: dir}
	defer d.Flush()
	res, err := d.Get(ctx, tr.url, "file", &download.Options{Retry: retry.Policy{Tries: 3, Wait: time.Millisecond}, Checksum: tr.checksum})
	got, readErr := dir.ReadFile("file")
	if err != nil {
		if !errors.Is(readErr, fs.ErrNotExist) {
			t.Errorf("%v: file exists after %v", tr.fault, err)
		}
		code := fetch.CodeOf(err)
		expected := slices.Contains(faultErrors[tr.fault.Kind], code) ||
			(tr.checksum != "" || tr.verified) && code == fetch.ErrChecksum ||
			tr.verified && code == fetch.ErrTLS // the connection ended during the handshake
		if errors.Is(err, hang) || !expected {
			t.Errorf("%v: %v (class %q)", tr.fault, err, code)
		}
		return code.Error(), p, nil
	}
	switch damage := tr.fault.Kind == faultproxy.Flip || tr.fault.Kind == faultproxy.Duplicate; {
	case readErr != nil:
		t.Errorf("%v: %v", tr.fault, readErr)
	case tr.want == nil || bytes.Equal(got, tr.want):
		return whole, p, got
	case res.Meta.Framing == fetch.FramedByClose && len(got) < len(tr.want) && bytes.HasPrefix(tr.want, got) && !tr.verified:
		return short, p, got
	case damage && !tr.verified && tr.checksum == "":
		return altered, p, got
	}
	t.Errorf("%v: a wrong file, of %d bytes in place of %d", tr.fault, len(got), len(tr.want))
	return "", p, got
}

// judge runs the trial. If the result is wrong bytes that cannot be detected, it runs the trial
// again with a checksum.
func (tr trial) judge(t *testing.T) string {
	outcome, p, _ := tr.run(t)
	if p.Struck() == 0 {
		t.Errorf("%v has not happened", tr.fault)
	}
	if outcome != altered {
		return outcome
	}
	sum := sha256.Sum256(tr.want)
	tr.checksum = "sha256:" + hex.EncodeToString(sum[:])
	if again, _, _ := tr.run(t); again != fetch.ErrChecksum.Error() {
		t.Errorf("%v, with a checksum: %s", tr.fault, again)
	}
	return detected
}

// TestReliability downloads from each server with each fault, and compares the outcomes with
// docs/reliability.md. With URLGET_RELIABILITY=write it writes them.
func TestReliability(t *testing.T) {
	const file = "../docs/reliability.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, tail, _ := strings.Cut(string(text), "\n## Once\n")
	first, second, _ := strings.Cut(tail, "\n## On every connection\n")
	rows := make([]struct{ once, always string }, len(reliabilityRows))
	t.Run("rows", func(t *testing.T) { // in parallel, because they mostly wait
		for i, row := range reliabilityRows {
			t.Run(strings.ReplaceAll(row.name, ", ", "-"), func(t *testing.T) {
				t.Parallel()
				s := lab.Start(t, row.server)
				tr := trial{url: row.url(s), config: row.config, verified: row.verified}
				if row.configFor != nil {
					tr.config = row.configFor(t, s)
				}
				_, p, got := tr.run(t)
				if t.Failed() {
					return
				}
				tr.want = got
				if row.file != "" && !bytes.Equal(got, fixture(t, s, row.file)) {
					t.Fatalf("%d bytes without a fault differ from the file", len(got))
				}
				tr.fault.After, tr.fault.Delay = p.Longest()/2, 2*time.Millisecond
				rows[i].once, rows[i].always = tr.row(t, row.name, 1, first), tr.row(t, row.name, 0, second)
			})
		}
	})
	var once, always string
	complete := !t.Failed()
	for _, row := range rows {
		once, always = once+row.once, always+row.always
		complete = complete && row.always != ""
	}
	if os.Getenv("URLGET_RELIABILITY") == "write" {
		if !complete {
			t.Fatal("the table is incomplete and was not written")
		}
		page := withTable(withTable(string(text), "Once", tableHead()+"\n"+once), "On every connection", tableHead()+"\n"+always)
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for want, section := range map[string]string{once: first, always: second} {
		for line := range strings.Lines(want) {
			if !strings.Contains(section, line) {
				t.Errorf("%s has no row %s", file, line)
			}
		}
	}
}

// row returns a row of the table with the outcomes of all faults, on at most limit connections
// each. If an outcome differs from the table, it repeats the trial with longer timeouts, because
// the machine may be busy.
func (tr trial) row(t *testing.T, name string, limit int, table string) string {
	_, known, _ := strings.Cut(table, "| "+name+" | ")
	known, _, _ = strings.Cut(known, " |\n")
	want := strings.Split(known, " | ")
	outcomes := make([]string, len(faultproxy.Kinds()))
	free := make(chan struct{}, 6) // more in parallel would make waits too long
	var wg sync.WaitGroup
	for i, kind := range faultproxy.Kinds() {
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			one := tr
			one.limit, one.fault.Kind = limit, kind
			outcomes[i] = one.judge(t)
			if i >= len(want) || outcomes[i] != want[i] {
				one.longTimeouts = true
				outcomes[i] = one.judge(t)
			}
		})
	}
	wg.Wait()
	return fmt.Sprintf("| %s | %s |\n", name, strings.Join(outcomes, " | "))
}

// withTable returns page with another table, the first one below a title.
func withTable(page, title, table string) string {
	before, rest, _ := strings.Cut(page, "\n## "+title+"\n")
	text, rest, _ := strings.Cut(rest, "\n| ")
	_, after, _ := strings.Cut(rest, "|\n\n")
	return before + "\n## " + title + "\n" + text + "\n" + table + "\n" + after
}

// tableHead returns the first two lines of the tables.
func tableHead() string {
	var b strings.Builder
	b.WriteString("| protocol |")
	for _, k := range faultproxy.Kinds() {
		fmt.Fprintf(&b, " %s |", k)
	}
	return b.String() + "\n" + strings.Repeat("|---", len(faultproxy.Kinds())+1) + "|"
}
