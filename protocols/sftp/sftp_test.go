package sftp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

var modTime = time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)

// tree returns the files of most tests.
func tree() fstest.MapFS {
	return fstest.MapFS{
		"dir/a.txt":   {Data: []byte("content of a"), Mode: 0o640, ModTime: modTime},
		"dir/sub/b":   {Data: []byte("b"), Mode: 0o644, ModTime: modTime},
		"dir/link":    {Data: []byte("a.txt"), Mode: fs.ModeSymlink | 0o777},
		"dir/up":      {Data: []byte("sub"), Mode: fs.ModeSymlink | 0o777},
		"dir/nowhere": {Data: []byte("gone"), Mode: fs.ModeSymlink | 0o777},
		"pipe":        {Mode: fs.ModeNamedPipe | 0o644},
		"large":       {Data: bytes.Repeat([]byte("0123456789abcdef"), 1<<16), Mode: 0o644, ModTime: modTime},
		"~/tilde":     {Data: []byte("tilde"), Mode: 0o644, ModTime: modTime},
	}
}

// client returns a client with the driver, which is closed after the test.
func client(t testing.TB, opts Options, more *fetch.Options) *fetch.Client {
	t.Helper()
	if more == nil {
		more = &fetch.Options{Credentials: drive.Credentials(fetch.Credential{Password: password})}
	}
	c := drive.Client(t, more, With(opts))
	return c
}

func TestPathsAreAbsoluteOrRelativeToHome(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree()})
	c := client(t, options(t, s), nil)
	for url, want := range map[string]string{
		"/dir/a.txt":       "STAT /dir/a.txt",
		"//dir//a.txt":     "STAT //dir//a.txt",
		"/~/dir/a.txt":     "STAT dir/a.txt",
		"/~//dir/a.txt":    "STAT dir/a.txt",
		"/%7E/tilde":       "STAT /~/tilde",
		"/dir/%61.txt":     "STAT /dir/a.txt",
		"/dir/a.txt#part":  "STAT /dir/a.txt",
		"/dir/no?such":     "STAT /dir/no?such",
		"/dir/line%0Aend":  `STAT /dir/line\nend`,
		"/dir/latin1%E9":   "STAT /dir/latin1\xe9",
		"":                 "STAT /",
		"/":                "STAT /",
		"/~":               "STAT .",
		"/~/":              "STAT .",
		"/dir/":            "STAT /dir",
		"/dir":             "STAT /dir",
		"/~tester/dir":     "STAT /~tester/dir",
		"/dir/../dir/sub/": "STAT /dir/../dir/sub",
	} {
		before := len(s.Log())
		if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + url)}); err != nil && !errors.Is(err, fetch.ErrNotFound) {
			t.Errorf("%s: %v", url, err)
		}
		if got := s.Log()[before:]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: the server got %q, want %q", url, got, want)
		}
	}
	for _, bad := range []string{"sftp://" + s.Addr + "/a%2Fb", "sftp://" + s.Addr + "/a%00b", "sftp:/a", "sftp://" + s.Addr + "/" + strings.Repeat("a", 40000),
		"sftp://u%0A@" + s.Addr + "/", "sftp://u;fingerprint=x@" + s.Addr + "/", "sftp://@" + s.Addr + "/", "sftp://-oX@" + s.Addr + "/"} {
		if _, err := c.Get(t.Context(), bad); !errors.Is(err, fetch.ErrURL) {
			t.Errorf("%.60s: error %v, want one of class %q", bad, err, fetch.ErrURL)
		}
	}
}

func TestListingShowsLinksAndTargets(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree()})
	c := client(t, options(t, s), nil)
	for _, url := range []string{s.URL + "/dir", s.URL + "/dir/"} {
		got := map[string]string{}
		for _, e := range drive.MustList(t, c, url) {
			sys := e.Sys.(Sys)
			got[e.Name] = fmt.Sprint(strings.TrimPrefix(e.URL.String(), s.URL), " ", e.Kind, " ", e.Size, " ", sys.Mode, " ", sys.Target)
		}
		want := map[string]string{
			"a.txt":   "/dir/a.txt object 12 -rw-r----- ",
			"sub":     "/dir/sub/ listing -1 dr-xr-xr-x ",
			"link":    "/dir/link object 12 Lrwxrwxrwx a.txt",
			"up":      "/dir/up/ listing -1 Lrwxrwxrwx sub",
			"nowhere": "/dir/nowhere object -1 Lrwxrwxrwx gone",
		}
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: %s is %q, want %q", url, name, got[name], want[name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %q", url, got)
		}
	}
	drive.Gets(t, c, s.URL+"/dir/link", "content of a") // the target of the link
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), nil, 0); err != nil {
		t.Fatal(err)
	}
	files := tree()
	s := sftpd.Start(t, sftpd.Options{Tree: deniedFS{files}})
	none := sftpd.Start(t, sftpd.Options{Tree: files, NoSFTP: true})
	c := client(t, options(t, s, none), nil)
	for _, tt := range []struct {
		url  string
		op   fetch.Op
		want fetch.Code
	}{
		{s.URL + "/none", fetch.OpGet, fetch.ErrNotFound},
		{s.URL + "/dir/a.txt/", fetch.OpGet, fetch.ErrNotFound},
		{s.URL + "/dir/a.txt", fetch.OpList, fetch.ErrNotRetrievable},
		{s.URL + "/pipe", fetch.OpGet, fetch.ErrRefused},
		{s.URL + "/denied", fetch.OpGet, fetch.ErrRefused},
		{none.URL + "/", fetch.OpGet, fetch.ErrRefused},
	} {
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(tt.url), Op: tt.op})
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("%v %s: error %v, want one of class %q", tt.op, tt.url, err, tt.want)
		}
	}
}

// deniedFS denies access to the file "denied".
type deniedFS struct{ fstest.MapFS }

func (d deniedFS) Stat(name string) (fs.FileInfo, error) {
	if name == "denied" {
		return nil, fs.ErrPermission
	}
	return d.MapFS.Stat(name)
}

func TestResumeRequiresSameFile(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree()})
	c := client(t, options(t, s), nil)
	u := uri.MustParse(s.URL + "/large")
	meta, err := c.Stat(t.Context(), &fetch.Request{URL: u})
	if err != nil || meta.ETag == "" || !meta.ModTime.Equal(modTime) || meta.Size != 1<<20 {
		t.Fatalf("Stat: %+v, %v", meta, err)
	}
	if _, err := c.Do(t.Context(), &fetch.Request{URL: u, IfChanged: meta.Validator}); !errors.Is(err, fetch.ErrNotModified) {
		t.Errorf("the same file: error %v, want one of class %q", err, fetch.ErrNotModified)
	}
	for _, tt := range []struct {
		known fetch.Validator
		part  bool
	}{
		{meta.Validator, true},
		{fetch.Validator{ModTime: modTime}, true},
		{fetch.Validator{ETag: `"other"`}, false},
		{fetch.Validator{ModTime: modTime.Add(time.Second)}, false},
	} {
		resp, err := c.Do(t.Context(), &fetch.Request{URL: u, IfChanged: tt.known, Range: fetch.Range{Offset: 1 << 19}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if want := int64(1 << 20); tt.part {
			if n != want/2 || resp.Range.Offset != want/2 || resp.Total != want || err != nil {
				t.Errorf("%+v: %d bytes, %+v, %v", tt.known, n, resp.Meta, err)
			}
		} else if n != want || !resp.Range.IsZero() || err != nil {
			t.Errorf("%+v: %d bytes, %+v, %v", tt.known, n, resp.Meta, err)
		}
	}
	if _, err := c.Do(t.Context(), &fetch.Request{URL: u, Range: fetch.Range{Offset: 1<<20 + 1}}); !errors.Is(err, fetch.ErrRange) {
		t.Errorf("after the end: error %v, want one of class %q", err, fetch.ErrRange)
	}
}

// grownFS reports a size for the file "grown" that is smaller than its content.
type grownFS struct {
	fstest.MapFS
	size int64
}

func (g grownFS) Stat(name string) (fs.FileInfo, error) {
	if name == "grown" {
		return rawEntry{name, g.size}, nil
	}
	return g.MapFS.Stat(name)
}

func TestAFileThatIsLongerThanItsSizeHasChanged(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 30_000)
	for _, size := range []int64{1, 1000, 100_000, int64(len(content)) - 1, int64(len(content))} {
		s := sftpd.Start(t, sftpd.Options{Tree: grownFS{fstest.MapFS{"grown": {Data: []byte(content), Mode: 0o644}}, size}, MaxRead: 30_000})
		c := client(t, options(t, s), nil)
		var want fetch.Code
		if size < int64(len(content)) {
			want = fetch.ErrChanged
		}
		for _, from := range []int64{0, size / 2} {
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/grown"), Range: fetch.Range{Offset: from}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if fetch.CodeOf(err) != want || string(got) != content[from:size] {
				t.Errorf("%d bytes of %d from %d: %v, want class %q", len(got), size, from, err, want)
			}
		}
		if size == 1 {
			continue
		}
		// A part that ends earlier does not show it.
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/grown"), Range: fetch.Range{Length: size / 2}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || int64(len(got)) != size/2 {
			t.Errorf("a part: %d bytes, %v", len(got), err)
		}
		resp.Body.Close()
	}
}

// A touchedFS has files with a later time once it is touched.
type touchedFS struct {
	fstest.MapFS
	touched atomic.Bool
}

func (r *touchedFS) Stat(name string) (fs.FileInfo, error) {
	info, err := r.MapFS.Stat(name)
	if r.touched.Load() && err == nil {
		info = touchedInfo{info}
	}
	return info, err
}

type touchedInfo struct{ fs.FileInfo }

func (i touchedInfo) ModTime() time.Time { return i.FileInfo.ModTime().Add(time.Second) }

// TestAFileThatIsModifiedWhileItIsReadHasChanged modifies a file at its first READ, because what was read may be
// a mixture of two versions. Servers may refuse to tell the time.
func TestAFileThatIsModifiedWhileItIsReadHasChanged(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 30_000)
	for _, modified := range []bool{false, true} {
		for _, refused := range []bool{false, true} {
			for _, part := range []fetch.Range{{}, {Offset: 10}, {Length: 10}} {
				tree := &touchedFS{MapFS: fstest.MapFS{"f": {Data: []byte(content), Mode: 0o644, ModTime: modTime}}}
				s := sftpd.Start(t, sftpd.Options{Tree: tree, MaxRead: 30_000, Refuse: func(request byte, _ bool) uint32 {
					switch typ := filexfer.Type(request); {
					case typ == filexfer.TypeRead:
						tree.touched.Store(modified)
					case typ == filexfer.TypeFstat && refused:
						return uint32(filexfer.CodeOpUnsupported)
					}
					return 0
				}})
				got, err := drive.Read(client(t, options(t, s), nil).Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/f"), Range: part}))
				if want := modified && !refused; err != nil != want || want && fetch.CodeOf(err) != fetch.ErrChanged {
					t.Errorf("modified %v, refused %v, %+v: %d bytes, %v", modified, refused, part, len(got), err)
				}
			}
		}
	}
}

func TestTruncatedTransfersFail(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree()})
	c := client(t, options(t, s), nil)
	for _, tt := range []struct {
		fault servers.Fault
		want  fetch.Code
	}{
		{servers.Short, fetch.ErrTruncated},
		{servers.Abort, fetch.ErrServer},
		{servers.Cut, fetch.ErrTruncated},
		{servers.Reset, fetch.ErrTruncated},
		{servers.HalfClose, fetch.ErrTruncated},
		{servers.Noise, fetch.ErrProtocol},
	} {
		s.Arm(servers.Failure{Fault: tt.fault, After: 100_000})
		if got, err := drive.Get(t, c, s.URL+"/large"); !errors.Is(err, tt.want) || !strings.HasPrefix(strings.Repeat("0123456789abcdef", 1<<16), got) {
			t.Errorf("%v: %d bytes, error %v, want one of class %q", tt.fault, len(got), err, tt.want)
		}
	}
	for fault, want := range map[servers.Fault]fetch.Code{servers.Split: "", servers.Endless: fetch.ErrChanged} {
		s.Fail(fault)
		if got, err := drive.Get(t, c, s.URL+"/dir/a.txt"); got != "content of a" || fetch.CodeOf(err) != want {
			t.Errorf("%v: %q, %v", fault, got, err)
		}
	}
	for _, on := range []string{"STAT", "OPEN", "OPENDIR"} {
		s.Arm(servers.Failure{Fault: servers.Cut, On: on})
		var err error
		for _, err = range c.List(t.Context(), s.URL+"/dir") {
		}
		if on == "OPEN" {
			_, err = drive.Get(t, c, s.URL+"/dir/a.txt")
		}
		if err != nil {
			t.Errorf("a reused connection that is cut at %s: %v", on, err)
		}
		s.Arm(servers.Failure{})
	}
}

func TestConcurrentRequestsShareConnections(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree(), Users: map[string]string{"tester": password}})
	c := client(t, options(t, s), nil)
	var wg sync.WaitGroup
	for i := range 64 {
		url, want := s.URL+"/large", 1<<20
		if i%2 == 0 {
			url, want = s.URL+"/dir/a.txt", 12
		}
		wg.Go(func() {
			if got, err := drive.Get(t, c, url); len(got) != want || err != nil {
				t.Errorf("%s: %d bytes, %v", url, len(got), err)
			}
		})
	}
	wg.Wait()
	if n := s.Accepted(); n > 4 {
		t.Errorf("%d connections", n)
	}
}

func TestListingOfTenThousandFiles(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for i := range 10_000 {
		files[fmt.Sprintf("file %d", i)] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	}
	s := sftpd.Start(t, sftpd.Options{Tree: files})
	n := 0
	for _, err := range client(t, options(t, s), nil).List(t.Context(), s.URL+"/") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 10_000 {
		t.Errorf("%d entries", n)
	}
}

// A rawFS has files with names that are invalid in package io/fs.
type rawFS map[string]string

func (r rawFS) Open(name string) (fs.File, error) {
	files := fstest.MapFS{}
	if name != "." {
		content, ok := r[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		files["x"] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
		return files.Open("x")
	}
	return files.Open(".")
}

func (r rawFS) ReadDir(string) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	for name, content := range r {
		all = append(all, rawEntry{name, int64(len(content))})
	}
	return all, nil
}

type rawEntry struct {
	name string
	size int64
}

func (e rawEntry) Name() string               { return e.name }
func (e rawEntry) IsDir() bool                { return false }
func (e rawEntry) Type() fs.FileMode          { return 0 }
func (e rawEntry) Info() (fs.FileInfo, error) { return e, nil }
func (e rawEntry) Size() int64                { return e.size }
func (e rawEntry) Mode() fs.FileMode          { return 0o644 }
func (e rawEntry) ModTime() time.Time         { return modTime }
func (e rawEntry) Sys() any                   { return nil }

func TestNamesAreBytes(t *testing.T) {
	t.Parallel()
	files := rawFS{"latin1 \xe9": "one", "line\nend": "two", "\xff\xfe": "three", "~": "four", "?#%": "five", "..x": "six"}
	s := sftpd.Start(t, sftpd.Options{Tree: files})
	c := client(t, options(t, s), nil)
	n := 0
	for _, e := range drive.MustList(t, c, s.URL+"/") {
		n++
		if got, err := drive.Get(t, c, e.URL.String()); got != files[e.Name] || err != nil {
			t.Errorf("%q at %s: %q, %v", e.Name, e.URL, got, err)
		}
	}
	if n != len(files) {
		t.Errorf("%d of %d names", n, len(files))
	}
}

func TestMaliciousNamesAreRejected(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../up", "a/b", "", "a\x00b"} {
		s := sftpd.Start(t, sftpd.Options{Tree: rawFS{name: "x"}})
		var err error
		for _, err = range client(t, options(t, s), nil).List(t.Context(), s.URL+"/") {
		}
		if !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("%q: error %v, want one of class %q", name, err, fetch.ErrProtocol)
		}
	}
}

func TestRecordsHaveLinesAndNoBytes(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree(), Users: map[string]string{"tester": password}})
	var mu sync.Mutex
	var lines []string
	more := &fetch.Options{Credentials: drive.Credentials(fetch.Credential{Password: password}), Recorder: fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
		return &fetch.Recording{
			Sent:     func(int, []byte) { t.Error("sent bytes were recorded") },
			Received: func(int, []byte) { t.Error("received bytes were recorded") },
			Line: func(_ bool, line string) {
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, line)
			},
		}
	})}
	c := client(t, options(t, s), more)
	drive.MustGet(t, c, s.URL+"/dir/a.txt")
	mu.Lock()
	defer mu.Unlock()
	got := strings.Join(lines, "\n")
	for _, want := range []string{"log in as tester", "host key ssh-ed25519 SHA256:", "password ****", "STAT /dir/a.txt", "ATTRS -rw-r----- 12", "OPEN /dir/a.txt"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, password) {
		t.Errorf("the password is in\n%s", got)
	}
}

func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	silent := servers.Start(t, servers.Config{Scheme: "sftp"}, func(c *servers.Conn) { c.Wait() })
	more := &fetch.Options{Timeouts: fetch.Timeouts{Connect: 50 * time.Millisecond}}
	_, err := client(t, options(t), more).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(silent.URL + "/")})
	if !errors.Is(err, fetch.ErrNetwork) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("error %v", err)
	}
}

func TestNotAnSSHServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]fetch.Code{
		"":                              fetch.ErrNetwork,
		"HTTP/1.1 400 Bad\r\n\r\n":      fetch.ErrNetwork, // the connection ends before the version
		strings.Repeat("x", 100<<10):    fetch.ErrProtocol,
		"SSH-1.5-old\r\n":               fetch.ErrProtocol,
		"SSH-2.0-x\r\n\xff\xff\xff\xff": fetch.ErrProtocol,
	} {
		s := servers.Start(t, servers.Config{Scheme: "sftp"}, func(c *servers.Conn) { c.Printf("%s", text); c.Flush() })
		_, err := client(t, options(t), nil).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/")})
		if code := fetch.CodeOf(err); code != want && code != fetch.ErrNetwork {
			t.Errorf("%.20q: error %v, want one of class %q", text, err, want)
		}
	}
}

func TestReplyTimeout(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	more := &fetch.Options{Timeouts: fetch.Timeouts{Reply: limit}}
	var all sync.WaitGroup // in parallel, because they mostly wait
	for on, url := range map[string]string{"STAT": "/dir/a.txt", "OPEN /": "/dir/a.txt", "OPENDIR": "/dir"} {
		s := sftpd.Start(t, sftpd.Options{Tree: tree()})
		c := client(t, options(t, s), more)
		s.Arm(servers.Failure{Fault: servers.Stall, On: on})
		all.Go(func() {
			if _, err := c.Get(t.Context(), s.URL+url); !errors.Is(err, fetch.ErrNetwork) || !strings.Contains(err.Error(), limit.String()) {
				t.Errorf("a server that does not respond to %s: error %v, want one of class %q", on, err, fetch.ErrNetwork)
			}
			// A connection with an outstanding response is not reused.
			if got, err := drive.Get(t, c, s.URL+"/dir/a.txt"); got != "content of a" || err != nil {
				t.Errorf("after %s: %q, %v", on, got, err)
			}
		})
	}
	all.Wait()
}

func TestReadAheadIsLimited(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: fstest.MapFS{"huge": {Data: make([]byte, 8<<20), Mode: 0o644}}})
	resp, err := client(t, options(t, s), nil).Get(t.Context(), s.URL+"/huge")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	// The bytes served beyond those read were requested ahead.
	if _, err := io.CopyN(io.Discard, resp.Body, 4<<20); err != nil {
		t.Fatal(err)
	}
	if ahead := s.Served() - 4<<20; ahead > maxWindow*filexfer.MaxData {
		t.Errorf("%d bytes were requested ahead", ahead)
	}
}
