package protocols_test

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/member"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/nfs"
)

// archiveOf returns a zip file with 100 small members after one of a size that is not compressed.
func archiveOf(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.CreateHeader(&zip.FileHeader{Name: "big", Method: zip.Store})
	io.CopyN(w, rand.Reader, int64(size))
	for i := range 100 {
		w, _ := z.Create(fmt.Sprintf("dir/%d.txt", i))
		fmt.Fprintf(w, "member %d\n", i)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Members of archives are read over every scheme with ranges.
func TestMembersOverSchemesWithRanges(t *testing.T) {
	t.Parallel()
	data := archiveOf(t, 8<<20)
	modified := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	tree := fstest.MapFS{"pub/x.zip": {Data: data, ModTime: modified}}
	for _, tt := range []struct {
		scheme string
		start  func(*testing.T) (url string, config protocols.Config)
	}{
		{"http", func(t *testing.T) (string, protocols.Config) {
			s := httptest.NewServer(http.FileServerFS(tree))
			t.Cleanup(s.Close)
			return s.URL + "/pub/x.zip", protocols.Config{}
		}},
		{"ftp", func(t *testing.T) (string, protocols.Config) {
			s := ftpd.Start(t, ftpd.Options{Tree: tree})
			t.Cleanup(func() {
				// On a busy machine, the replies to ABOR may come too late to use the session again.
				aborted := strings.Count(strings.Join(s.Log(), "\n"), "ABOR")
				if n := s.Logins(); n > 1+aborted/2 {
					t.Errorf("%d logins after %d aborted transfers: %q", n, aborted, s.Log())
				}
				if n := strings.Count(strings.Join(s.Log(), "\n"), "RETR x.zip"); n > 16 {
					t.Errorf("%d transfers", n)
				}
			})
			return "ftp://" + s.Addr + "/pub/x.zip", protocols.Config{}
		}},
		{"sftp", func(t *testing.T) (string, protocols.Config) {
			s := sftpd.Start(t, sftpd.Options{Tree: tree})
			return "sftp://u:p@" + s.Addr + "/pub/x.zip", ssHome(t, s, "")
		}},
		{"smb", func(t *testing.T) (string, protocols.Config) {
			return "smb://u:p@" + smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"u": "p"}}).Addr + "/share/pub/x.zip", protocols.Config{}
		}},
		{"nfs", func(t *testing.T) (string, protocols.Config) {
			s := nfsd.Start(t, nfsd.Options{Tree: tree, Public: "."})
			return "nfs://" + s.Addr + "/pub/x.zip", protocols.Config{NFS: &nfs.Options{AnyPort: true}}
		}},
		{"file", func(t *testing.T) (string, protocols.Config) {
			name := filepath.Join(t.TempDir(), "x.zip")
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return uri.Must(uri.File{Path: filepath.ToSlash(name)}.URI()).String(), protocols.Config{}
		}},
	} {
		t.Run(tt.scheme, func(t *testing.T) {
			t.Parallel()
			u, config := tt.start(t)
			c := drive.Client(t, &fetch.Options{Fallback: member.Options{}.Fallback}, protocols.With(config))
			if got, err := drive.List(t, c, u); err != nil || len(got) != 101 || got[100].Name != "dir/99.txt" {
				t.Fatalf("%d members, %v", len(got), err)
			}
			drive.Gets(t, c, u+"!/dir/57.txt", "member 57\n")
			if got, err := drive.List(t, c, u+"!/dir/"); err != nil || len(got) != 100 {
				t.Errorf("%d members of the directory, %v", len(got), err)
			}
			m, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(u + "!/big")})
			if err != nil || m.Size != 8<<20 {
				t.Errorf("%+v, %v", m, err)
			}
			if content, err := drive.Get(t, c, u+"!/big"); err != nil || !bytes.Contains(data, []byte(content)) || len(content) != 8<<20 {
				t.Errorf("%d bytes, %v", len(content), err)
			}
			drive.Fails(t, c, u+"!/none", fetch.ErrNotFound)
		})
	}
}

// A sparse is a file of blocks between holes. Only Write of hole makes a hole.
type sparse struct {
	size   int64
	blocks []block
}

type block struct {
	offset int64
	data   []byte
}

var hole = make([]byte, 16<<20)

func (s *sparse) Write(p []byte) (int, error) {
	if len(p) != len(hole) || &p[0] != &hole[0] {
		s.blocks = append(s.blocks, block{s.size, bytes.Clone(p)})
	}
	s.size += int64(len(p))
	return len(p), nil
}

func (s *sparse) ReadAt(p []byte, offset int64) (int, error) {
	n := int(min(int64(len(p)), max(0, s.size-offset)))
	clear(p[:n])
	for _, b := range s.blocks {
		if b.offset < offset+int64(n) && offset < b.offset+int64(len(b.data)) {
			copy(p[max(0, b.offset-offset):n], b.data[max(0, offset-b.offset):])
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// A counter counts the bytes that a server writes.
type counter struct {
	net.Listener
	sent *atomic.Int64
}

func (c counter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return counted{conn, c.sent}, nil
}

type counted struct {
	net.Conn
	sent *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// The listing of a zip file of 10 GiB (zip64) takes less than 1 MiB of traffic, and so does a small
// member at its end.
func TestLargeZipTakesLittleTraffic(t *testing.T) {
	t.Parallel()
	file := &sparse{}
	z := zip.NewWriter(file)
	const size = 10 << 30
	w, err := z.CreateRaw(&zip.FileHeader{Name: "big", CompressedSize64: size, UncompressedSize64: size})
	for n := int64(0); n < size && err == nil; n += int64(len(hole)) {
		_, err = w.Write(hole)
	}
	for i := range 2000 {
		w, _ := z.Create(fmt.Sprintf("directory/with-a-name/%d.txt", i))
		fmt.Fprintf(w, "member %d\n", i)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil || file.size < size {
		t.Fatal(file.size, err)
	}
	sent := &atomic.Int64{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "!") {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "x.zip", time.Unix(1e9, 0), io.NewSectionReader(file, 0, file.size))
	}))
	s.Listener = counter{s.Listener, sent}
	s.Start()
	defer s.Close()
	c := drive.Client(t, &fetch.Options{Fallback: member.Options{}.Fallback}, protocols.All)
	got, err := drive.List(t, c, s.URL+"/x.zip")
	if err != nil || len(got) != 2001 || got[0].Size != size {
		t.Fatalf("%d members, %v", len(got), err)
	}
	if n := sent.Swap(0); n >= 1<<20 {
		t.Errorf("the listing took %d bytes", n)
	}
	drive.Gets(t, c, s.URL+"/x.zip!/directory/with-a-name/1999.txt", "member 1999\n")
	if n := sent.Swap(0); n >= 1<<20 {
		t.Errorf("the member took %d bytes", n)
	}
}
