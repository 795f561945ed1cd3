package sftp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

// refuse returns a function for sftpd.Options.Refuse.
func refuse(code filexfer.Code, onlyOpened bool, types ...filexfer.Type) func(byte, bool) uint32 {
	return func(t byte, opened bool) uint32 {
		for _, other := range types {
			if filexfer.Type(t) == other && (opened || !onlyOpened) {
				return uint32(code)
			}
		}
		return 0
	}
}

// TestServersThatRefuseAttributes retrieves files and directories from servers that read them but do
// not describe them.
func TestServersThatRefuseAttributes(t *testing.T) {
	t.Parallel()
	const stat, lstat, fstat = filexfer.TypeStat, filexfer.TypeLstat, filexfer.TypeFstat
	for name, opts := range map[string]sftpd.Options{
		"STAT denied":       {Refuse: refuse(filexfer.CodePermissionDenied, false, stat, lstat)},
		"STAT fails":        {Refuse: refuse(filexfer.CodeFailure, false, stat, lstat)},
		"STAT unsupported":  {Refuse: refuse(filexfer.CodeOpUnsupported, false, stat, lstat, fstat)},
		"FSTAT fails":       {Refuse: refuse(filexfer.CodeFailure, false, fstat)},
		"extractable once":  {Refuse: refuse(filexfer.CodeNoSuchFile, true, stat, lstat, fstat)},
		"version 2":         {Version: 2},
		"version 2, denied": {Version: 2, Refuse: refuse(filexfer.CodePermissionDenied, false, stat, lstat, fstat)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.Tree = fstest.MapFS{"f": {Data: []byte("hello")}, "empty": {}, "dir/g": {Data: []byte("x")},
				"large": {Data: []byte(strings.Repeat("0123456789", 30_000))}}
			s := sftpd.Start(t, opts)
			c := client(t, options(t, s), nil)
			drive.Gets(t, c, s.URL+"/f", "hello")
			drive.Gets(t, c, s.URL+"/empty", "")
			drive.Gets(t, c, s.URL+"/large", strings.Repeat("0123456789", 30_000))
			if meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/f")}); err != nil || meta.Kind != fetch.KindObject {
				t.Errorf("Stat: %+v, %v", meta, err)
			}
			entries, err := drive.List(t, c, s.URL+"/dir/")
			if len(entries) != 1 || err != nil {
				t.Errorf("listing: %v, %v", entries, err)
			}
			missing := fetch.ErrNotFound
			if strings.HasPrefix(name, "STAT") && name != "STAT fails" || name == "version 2, denied" {
				missing = fetch.ErrRefused
			}
			drive.Fails(t, c, s.URL+"/missing", missing)
		})
	}
}

// TestRefusedFiles checks that a file that can be neither described nor read is an error.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: fstest.MapFS{"f": {}},
		Refuse: refuse(filexfer.CodePermissionDenied, false, filexfer.TypeStat, filexfer.TypeOpen, filexfer.TypeOpendir)})
	c := client(t, options(t, s), nil)
	drive.Fails(t, c, s.URL+"/f", fetch.ErrRefused)
	drive.Fails(t, c, s.URL+"/f/", fetch.ErrRefused)
}

// TestServersWithoutSFTP checks that errors repeat the text that a server sends in place of SFTP.
func TestServersWithoutSFTP(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts sftpd.Options
		want string
	}{
		"nologin":       {sftpd.Options{Output: "This account is currently not available.\n"}, "(This account is currently not available.)"},
		"short":         {sftpd.Options{Output: "hi\n"}, "(hi)"},
		"lines":         {sftpd.Options{Output: "Welcome\r\nto \x1b[1mh\n"}, "(Welcome to \\x1b[1mh)"},
		"version 6":     {sftpd.Options{Version: 6}, "selected SFTP version 6, which"},
		"endless":       {sftpd.Options{Output: strings.Repeat("x", 1<<20)}, strings.Repeat("x", 100)},
		"other packets": {sftpd.Options{Output: "\x00\x00\x00\x05\x65\x00\x00\x00\x01"}, "did not send its SFTP version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.opts.Tree = fstest.MapFS{}
			s := sftpd.Start(t, tt.opts)
			_, err := drive.Get(t, client(t, options(t, s), nil), s.URL+"/f")
			if !errors.Is(err, fetch.ErrProtocol) || !strings.Contains(fmt.Sprint(err), tt.want) || len(fmt.Sprint(err)) > 1000 {
				t.Errorf("%.1000v, want %q", err, tt.want)
			}
		})
	}
}

func TestKindsByLongNames(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree(), NoAttributes: true})
	entries, err := drive.List(t, client(t, options(t, s), nil), s.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	with := sftpd.Start(t, sftpd.Options{Tree: tree()})
	want, err := drive.List(t, client(t, options(t, with), nil), with.URL+"/")
	if err != nil || len(want) != len(entries) {
		t.Fatal(len(want), len(entries), err)
	}
	for i, e := range entries {
		if e.Kind != want[i].Kind || e.Name != want[i].Name {
			t.Errorf("%s is %v, want %v", e.Name, e.Kind, want[i].Kind)
		}
	}
}
