package protocols_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols"
)

// TestTraits checks the traits that ranges, redirects, mirrors, crawls and archives depend on.
func TestTraits(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.All)
	t.Cleanup(func() { c.Close() })
	for name, tt := range map[string]struct {
		has     func(fetch.Scheme) bool
		schemes string
	}{
		"Ranges":               {func(s fetch.Scheme) bool { return s.Ranges }, "afs data dav davs file ftp ftps http https imap imaps ipfs ipns nfs s3 scp sftp smb wais webdav webdavs"},
		"RangeSets":            {func(s fetch.Scheme) bool { return s.RangeSets }, "dav davs http https webdav webdavs"},
		"Local":                {func(s fetch.Scheme) bool { return s.Local }, "afs file mid"},
		"Refers":               {func(s fetch.Scheme) bool { return s.Refers }, "prospero"},
		"ForwardProxy":         {func(s fetch.Scheme) bool { return s.ForwardProxy }, "ftp ftps gopher http wais"},
		"Bodies":               {func(s fetch.Scheme) bool { return s.Bodies }, "http https"},
		"Pipelined":            {func(s fetch.Scheme) bool { return s.Pipelined }, "news nntp nntps snews"},
		"RedirectTarget":       {func(s fetch.Scheme) bool { return s.RedirectTarget }, "ftp ftps http https"},
		"Tree":                 {func(s fetch.Scheme) bool { return s.Tree }, "afs dav davs file ftp ftps gemini http https ipfs ipns nex nfs rsync s3 scp sftp spartan webdav webdavs"},
		"Pages":                {func(s fetch.Scheme) bool { return s.Pages }, "gemini http https nex spartan"},
		"HTML":                 {func(s fetch.Scheme) bool { return s.HTML }, "http https"},
		"Menus":                {func(s fetch.Scheme) bool { return s.Menus }, "gopher gophers"},
		"HasLinks":             {func(s fetch.Scheme) bool { return s.HasLinks() }, "gemini gopher gophers http https nex spartan"},
		"Robots /robots.txt":   {func(s fetch.Scheme) bool { return s.Robots == "/robots.txt" }, "gemini http https"},
		"Robots /0/robots.txt": {func(s fetch.Scheme) bool { return s.Robots == "/0/robots.txt" }, "gopher gophers"},
		"Screens":              {func(s fetch.Scheme) bool { return s.Screens }, "tn3270"},
		"Logins":               {func(s fetch.Scheme) bool { return s.Logins }, "s3 scp sftp"},
		"Stateless":            {func(s fetch.Scheme) bool { return s.Stateless }, "dav davs http https s3 webdav webdavs"},
	} {
		var got []string
		for _, s := range c.Schemes() {
			if tt.has(s) {
				got = append(got, s.Name)
			}
		}
		if want := strings.Fields(tt.schemes); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
