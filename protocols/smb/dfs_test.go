package smb

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
)

// TestReferrals retrieves files that are on another server, "files.example".
func TestReferrals(t *testing.T) {
	t.Parallel()
	users := map[string]string{"joe": password}
	files := smbd.Start(t, smbd.Options{Tree: fstest.MapFS{"docs/a b.txt": {Data: []byte("content")}}, Share: "data", Users: users})
	root := smbd.Start(t, smbd.Options{Tree: tree, Users: users, DFS: map[string][]string{
		`share\docs`:    {`\files.example\data\docs`},
		`share\all`:     {`\gone\x\..\y`, `\files.example\data`},
		`share\here`:    {`\ROOT.example\share\dir`},
		`share\loop`:    {`\root.example\share\loop`},
		`share\nowhere`: {},
		`share\bad`:     {`\user@files.example\data`, `\files.example`, `files`, `\files.example\a/b`},
		`space`:         {`\files.example\data`},
	}})
	bare := smbd.Start(t, smbd.Options{Tree: tree, Users: users})
	addrs := map[string]string{"files.example:445": files.Addr, "root.example:445": root.Addr, "bare.example:445": bare.Addr}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addrs[addr])
	}
	var asked []string
	c := drive.Client(t, &fetch.Options{DialContext: dial,
		Credentials: fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
			asked = append(asked, ch.URL.Host())
			if ch.URL.Host() == "secret.example" {
				return fetch.Credential{}, fetch.ErrAuth
			}
			return fetch.Credential{User: "joe", Password: password}, nil
		})}, Load)
	for _, tt := range []struct {
		url, want string
		code      fetch.Code
	}{
		{"smb://root.example/share/dir/file.txt", "content", ""},
		{"smb://root.example/share/docs/a%20b.txt", "content", ""},
		{"smb://root.example/share/all/docs/a%20b.txt", "content", ""},
		{"smb://root.example/share/here/file.txt", "content", ""},
		{"smb://root.example/space/docs/a%20b.txt", "content", ""},
		{"smb://root.example/share/docs/none", "", fetch.ErrNotFound},
		{"smb://root.example/share/docsen", "", fetch.ErrNotFound},
		{"smb://root.example/none/x", "", fetch.ErrNotFound},
		{"smb://root.example/share/nowhere/x", "", fetch.ErrRefused},
		{"smb://root.example/share/bad/x", "", fetch.ErrRefused},
		{"smb://root.example/share/loop/x", "", fetch.ErrRedirect},
		{"smb://bare.example/none/x", "", fetch.ErrNotFound},
	} {
		for range 2 { // the second time on a pooled connection
			got, err := drive.Get(t, c, tt.url)
			if got != tt.want || fetch.CodeOf(err) != tt.code {
				t.Errorf("%s: %q, %v, want %q, class %q", tt.url, got, err, tt.want, tt.code)
			}
		}
	}
	if log := bare.Log(); slices.ContainsFunc(log, func(line string) bool { return strings.HasPrefix(line, "REFERRAL") }) {
		t.Errorf("a server without DFS was asked for a referral: %q", log)
	}
	if !slices.Contains(asked, "files.example") {
		t.Errorf("credentials were requested for %q", asked)
	}
	var names []string
	for _, e := range drive.MustList(t, c, "smb://root.example/share/docs/") {
		names = append(names, e.URL.String())
	}
	if want := []string{"smb://files.example/data/docs/a%20b.txt"}; !slices.Equal(names, want) {
		t.Errorf("the listing has %q, want %q", names, want)
	}
}

// TestReferralsKeepThePasswordOfTheURL checks that a password in a URL is not sent to another server, and
// that the policy applies to that server.
func TestReferralsKeepThePasswordOfTheURL(t *testing.T) {
	t.Parallel()
	users := map[string]string{"joe": password}
	files := smbd.Start(t, smbd.Options{Tree: tree, Users: users})
	root := smbd.Start(t, smbd.Options{Tree: tree, Users: users, DFS: map[string][]string{
		`share\there`: {`\files.example\share`}, `share\here`: {`\root.example\share`}}})
	addrs := map[string]string{"files.example:445": files.Addr, "root.example:445": root.Addr}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addrs[addr])
	}
	login := "smb://joe:" + uri.Escape(password) + "@root.example/share"
	c := drive.Client(t, &fetch.Options{DialContext: dial}, Load)
	drive.Gets(t, c, login+"/here/dir/file.txt", "content")
	drive.Fails(t, c, login+"/there/dir/file.txt", fetch.ErrAuth)
	if files.Logins() != 0 {
		t.Error("a password was sent to another server")
	}
	strict := drive.Client(t, &fetch.Options{DialContext: dial, Policy: &fetch.Policy{Untrusted: true}}, Load)
	if _, err := drive.Get(t, strict, login+"/there/dir/file.txt"); !errors.Is(err, fetch.ErrPolicy) {
		t.Errorf("%v, want an error of class %q", err, fetch.ErrPolicy)
	}
}
