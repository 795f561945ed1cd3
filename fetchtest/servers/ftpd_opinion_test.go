package servers_test

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jlaffaye/ftp"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// TestSecondClient retrieves and lists a tree with github.com/jlaffaye/ftp, so that the server is right not only
// for the driver that it tests.
func TestFTPSecondClient(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 2, 29, 12, 30, 15, 0, time.UTC)
	files := fstest.MapFS{}
	for name, size := range map[string]int{
		"empty": 0, "byte": 1, "two words": 10, "a  b": 7, " blank": 3, "trailing ": 3, "Grüße.txt": 100,
		"a;b=c": 4, "100%": 5, "-rf": 6, "dir/large.bin": 300_000, "dir/sub/deep": 2, "dir/.hidden": 9, "lines": 0,
	} {
		content := bytes.Repeat([]byte("\x00\r\n\xff"), (size+3)/4)[:size]
		files[name] = &fstest.MapFile{Data: content, ModTime: at, Mode: 0o644}
	}
	files["lines"].Data = []byte("a\r\nb\nc\r")
	certificate, trust := servers.Certificate()
	trust.ServerName = "127.0.0.1"
	for _, test := range []struct {
		name string
		opts ftpd.Options
		dial []ftp.DialOption
	}{
		{"MLSD and EPSV", ftpd.Options{}, nil},
		{"LIST", ftpd.Options{}, []ftp.DialOption{ftp.DialWithDisabledMLSD(true)}},
		{"PASV", ftpd.Options{}, []ftp.DialOption{ftp.DialWithDisabledEPSV(true)}},
		{"sizes in replies", ftpd.Options{Announce: true}, nil},
		{"AUTH TLS", ftpd.Options{TLS: certificate}, []ftp.DialOption{ftp.DialWithExplicitTLS(trust)}},
		{"TLS from the start", ftpd.Options{TLS: certificate, Implicit: true},
			[]ftp.DialOption{ftp.DialWithTLS(trust)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.opts.Tree = files
			s := ftpd.Start(t, test.opts)
			c, err := ftp.Dial(s.Addr, append(test.dial, ftp.DialWithTimeout(5*time.Minute),
				ftp.DialWithShutTimeout(5*time.Minute))...)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Login("me", "me"); err != nil {
				t.Fatal(err)
			}
			defer c.Quit()
			v := &ftpVisit{t, c, files, map[string]bool{}}
			v.list(".")
			for name := range files {
				// The client cuts blanks off the names in LIST.
				if !v.seen[name] && !(test.name == "LIST" && strings.TrimSpace(name) != name) {
					t.Errorf("%q is not listed", name)
				}
			}
			if _, err := c.Retr("missing"); err == nil || !strings.HasPrefix(err.Error(), "550") {
				t.Errorf("a missing file: %v", err)
			}
			v.restart("dir/large.bin", 299_990)
			if test.name != "LIST" { // without MLSD, the client does not send MLST
				v.entry("dir/large.bin")
			}
			v.move()
		})
	}
}

// An ftpVisit compares what a client says with the tree of the server.
type ftpVisit struct {
	*testing.T
	client *ftp.ServerConn
	tree   fstest.MapFS
	seen   map[string]bool
}

// list lists a directory and those in it, and checks their files.
func (v *ftpVisit) list(dir string) {
	entries, err := v.client.List(strings.TrimPrefix(dir, "."))
	if err != nil {
		v.Fatalf("%s: %v", dir, err)
	}
	for _, e := range entries {
		if e.Name == "." || e.Name == ".." { // the cdir and pdir of MLSD
			continue
		}
		name := path.Join(dir, e.Name)
		if e.Type != ftp.EntryTypeFolder {
			v.file(name, e)
			continue
		}
		if info, err := fs.Stat(v.tree, name); err != nil || !info.IsDir() {
			v.Fatalf("%q is no directory: %v", name, err)
		}
		v.list(name)
	}
}

func (v *ftpVisit) file(name string, e *ftp.Entry) {
	file := v.tree[name]
	if file == nil {
		v.Errorf("%q is not in the tree of %q", name, slices.Sorted(maps.Keys(v.tree)))
		return
	}
	v.seen[name] = true
	if day := file.ModTime.Truncate(24 * time.Hour); e.Size != uint64(len(file.Data)) ||
		!e.Time.Equal(file.ModTime) && !e.Time.Equal(day) { // LIST has the day only
		v.Errorf("%q: listed with %d bytes of %v", name, e.Size, e.Time)
	}
	if size, err := v.client.FileSize(name); err != nil || size != int64(len(file.Data)) {
		v.Errorf("%q: SIZE %d, %v", name, size, err)
	}
	if at, err := v.client.GetTime(name); err != nil || !at.Equal(file.ModTime) {
		v.Errorf("%q: MDTM %v, %v", name, at, err)
	}
	v.restart(name, 0)
}

func (v *ftpVisit) restart(name string, offset uint64) {
	r, err := v.client.RetrFrom(name, offset)
	if err != nil {
		v.Errorf("%q: %v", name, err)
		return
	}
	content, err := io.ReadAll(r)
	if closed := r.Close(); err != nil || closed != nil || !bytes.Equal(content, v.tree[name].Data[offset:]) {
		v.Errorf("%q: %d bytes, %v, %v", name, len(content), err, closed)
	}
}

// entry asks for one file with MLST, which every server with MLSD has (RFC 3659, section 7).
func (v *ftpVisit) entry(name string) {
	e, err := v.client.GetEntry(name)
	file := v.tree[name]
	if err != nil || e.Type != ftp.EntryTypeFile || e.Size != uint64(len(file.Data)) ||
		!e.Time.Equal(file.ModTime) {
		v.Errorf("MLST %s: %+v, %v", name, e, err)
	}
	if e, err := v.client.GetEntry("dir"); err != nil || e.Type != ftp.EntryTypeFolder {
		v.Errorf("MLST dir: %+v, %v", e, err)
	}
	if e, err := v.client.GetEntry("missing"); err == nil || !strings.HasPrefix(err.Error(), "550") {
		v.Errorf("MLST missing: %+v, %v", e, err)
	}
}

// move goes into a directory and back (RFC 959, section 4.1.1).
func (v *ftpVisit) move() {
	c := v.client
	for _, step := range []struct {
		name string
		do   func() error
		dir  string
	}{
		{"NOOP", c.NoOp, "/"},
		{"CWD", func() error { return c.ChangeDir("dir/sub") }, "/dir/sub"},
		{"CDUP", c.ChangeDirToParent, "/dir"},
	} {
		if err := step.do(); err != nil {
			v.Errorf("%s: %v", step.name, err)
		}
		if dir, err := c.CurrentDir(); dir != step.dir || err != nil {
			v.Errorf("after %s in %q, %v; want %q", step.name, dir, err, step.dir)
		}
	}
	if names, err := c.NameList(""); err != nil || !slices.Equal(names, []string{".hidden", "large.bin", "sub"}) {
		v.Errorf("NLST: %q, %v", names, err)
	}
}
