package protocols_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/external"
	"github.com/urlget/urlget/protocols/nfs"
)

func is[T any](d fetch.Driver) bool {
	_, ok := d.(T)
	return ok
}

// TestOptionalInterfaces checks that drivers still have the methods that the client looks for: one with
// another signature would be ignored.
func TestOptionalInterfaces(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.All)
	alone := fetch.New(nil, nfs.Load, external.With(external.Options{Programs: map[string]string{"x-a": "a"}}))
	t.Cleanup(func() { c.Close(); alone.Close() })
	all := c.Schemes()
	for _, s := range alone.Schemes() {
		s.Name = "alone:" + s.Name
		all = append(all, s)
	}
	for name, tt := range map[string]struct {
		is      func(fetch.Driver) bool
		schemes string
	}{
		"Explainer":  {is[fetch.Explainer], "afs cso dav davs dict file finger ftp ftps gemini gopher gophers http https imap imaps ipfs ipns ldap ldaps news nex nfs ni nntp nntps pop pop3 pop3s pops prospero rlogin rsync s3 scp sftp smb snews spartan telnet tftp tn3270 wais webdav webdavs whois ws wss z39.50r z39.50s alone:nfs alone:x-a"},
		"Expecter":   {is[fetch.Expecter], "cso dav davs dict finger ftp ftps gopher gophers news nex nntp nntps s3 snews wais webdav webdavs whois z39.50r z39.50s"},
		"IdleCloser": {is[fetch.IdleCloser], "dav davs ftp ftps http https imap imaps news nfs nntp nntps pop pop3 pop3s pops scp sftp smb snews webdav webdavs z39.50r z39.50s alone:nfs"},
		"Upgrader":   {is[fetch.Upgrader], "dav davs http https webdav webdavs ws wss"},
	} {
		var got []string
		for _, s := range all {
			if s.Ops != nil && tt.is(s.Driver) {
				got = append(got, s.Name)
			}
		}
		if want := strings.Fields(tt.schemes); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
