package nfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
	"github.com/urlget/urlget/internal/codec/nfs3"
)

var changed = time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)

// tree returns a tree with a few files and links.
func tree() fstest.MapFS {
	link := func(text string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(text), Mode: fs.ModeSymlink | 0o777}
	}
	return fstest.MapFS{
		"pub/a.txt":     {Data: []byte("content of a"), Mode: 0o640, ModTime: changed},
		"pub/sub/b":     {Data: []byte("b"), Mode: 0o644, ModTime: changed},
		"pub/link":      link("a.txt"),
		"pub/up":        link("sub/../sub"),
		"pub/absolute":  link("/pub/sub/b"),
		"pub/nowhere":   link("gone"),
		"pub/loop":      link("loop"),
		"pub/outside":   link("../secret"),
		"pub/faraway":   link("/secret"),
		"pub/pipe":      {Mode: fs.ModeNamedPipe | 0o644},
		"pub/empty":     {Mode: 0o644, ModTime: changed},
		"pub/large":     {Data: large, Mode: 0o644, ModTime: changed},
		"pub/50% é\xff": {Data: []byte("odd"), Mode: 0o644},
		"secret":        {Data: []byte("secret"), Mode: 0o644},
	}
}

var large = bytes.Repeat([]byte("0123456789abcdef"), 1<<17)

// client returns a client that is closed when the test ends.
func client(t testing.TB, opts Options, more *fetch.Options) *fetch.Client {
	t.Helper()
	opts.AnyPort = true
	c := drive.Client(t, more, With(opts))
	return c
}

func TestPathsBeginAtThePublicDirectory(t *testing.T) {
	t.Parallel()
	s := nfsd.Start(t, nfsd.Options{Tree: tree(), Public: "pub"})
	c := client(t, Options{}, nil)
	for url, want := range map[string]string{
		"/a.txt":             "LOOKUP a.txt",
		"//pub/a.txt":        "LOOKUP /pub/a.txt",
		"/sub//./b":          "LOOKUP sub/b",
		"/sub/../a.txt":      "LOOKUP a.txt",
		"/../../a.txt":       "LOOKUP a.txt",
		"/50%25%20%C3%A9%FF": "LOOKUP 50%25 %c3%a9%ff",
		"/a%0Ab":             "LOOKUP a%0ab",
		"/x?y#part":          "LOOKUP x?y",
		"":                   "LOOKUP .",
		"/":                  "LOOKUP .",
		"//":                 "LOOKUP /",
		"/sub/":              "LOOKUP sub",
	} {
		before := len(s.Log())
		if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + url)}); err != nil && !errors.Is(err, fetch.ErrNotFound) && !errors.Is(err, fetch.ErrRefused) {
			t.Errorf("%s: %v", url, err)
		}
		if got := s.Log()[before:]; len(got) == 0 || got[0] != want {
			t.Errorf("%s: the server got %q, want %q", url, got, want)
		}
	}
	for _, bad := range []string{"nfs://" + s.Addr + "/a%2Fb", "nfs://" + s.Addr + "/a%00b", "nfs:/a", "nfs://" + s.Addr + "/" + strings.Repeat("a/", 4000),
		"nfs://joe@" + s.Addr + "/a.txt"} {
		if _, err := c.Get(t.Context(), bad); !errors.Is(err, fetch.ErrURL) {
			t.Errorf("%.60s: error %v, want one of class %q", bad, err, fetch.ErrURL)
		}
	}
}

// TestLinksAreFollowedWithinTheExport follows each link from the public directory, and from exports.
func TestLinksAreFollowedWithinTheExport(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server nfsd.Options
		base   string
	}{
		"public": {nfsd.Options{Public: "pub", Exports: []string{"/pub"}}, ""},
		"export": {nfsd.Options{Exports: []string{"/pub"}}, "/pub"},
	} {
		tt.server.Tree = tree()
		s := nfsd.Start(t, tt.server)
		c := client(t, Options{}, nil)
		for file, want := range map[string]struct {
			text string
			code fetch.Code
		}{
			"/link": {"content of a", ""}, "/up/b": {"b", ""}, "/absolute": {"b", ""},
			"/nowhere": {"", fetch.ErrNotFound}, "/loop": {"", fetch.ErrServer}, "/outside": {"", fetch.ErrPolicy},
		} {
			if got, err := drive.Get(t, c, s.URL+tt.base+file); got != want.text || want.code == "" && err != nil || want.code != "" && !errors.Is(err, want.code) {
				t.Errorf("%s, %s: %q, %v", name, file, got, err)
			}
		}
		if got, err := drive.Get(t, c, s.URL+tt.base+"/faraway"); !errors.Is(err, fetch.ErrPolicy) && !errors.Is(err, fetch.ErrRefused) {
			t.Errorf("%s: the target outside the export: %q, %v", name, got, err)
		}
		listed := map[string]string{}
		for _, e := range drive.MustList(t, c, s.URL+tt.base+"/") {
			sys := e.Sys.(Sys)
			listed[e.Name] = fmt.Sprint(e.Kind, " ", e.Size, " ", sys.Mode, " ", sys.Target)
		}
		for member, want := range map[string]string{
			"a.txt": "object 12 -rw-r----- ", "link": "object 12 Lrwxrwxrwx a.txt", "up": "listing -1 Lrwxrwxrwx sub/../sub",
			"nowhere": "object -1 Lrwxrwxrwx gone", "outside": "object -1 Lrwxrwxrwx ../secret", "pipe": "object -1 prw-r--r-- ",
		} {
			if listed[member] != want {
				t.Errorf("%s: %s is %q, want %q", name, member, listed[member], want)
			}
		}
	}
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	s := nfsd.Start(t, nfsd.Options{Tree: denying{tree()}, Exports: []string{"/pub"}})
	kerberos := nfsd.Start(t, nfsd.Options{Tree: tree(), Flavors: []uint32{390003}})
	strangers := nfsd.Start(t, nfsd.Options{Tree: tree(), Users: []uint32{1000}})
	newer := nfsd.Start(t, nfsd.Options{Tree: tree(), Version: 4})
	silent := nfsd.Start(t, nfsd.Options{Tree: tree(), Without: []uint32{nfs3.ProgramMount, nfs3.ProgramPortmap}})
	c := client(t, Options{PortmapPort: silent.Port}, nil)
	for _, tt := range []struct {
		url  string
		op   fetch.Op
		want fetch.Code
		text string
	}{
		{s.URL + "/pub/none", fetch.OpGet, fetch.ErrNotFound, "NFS3ERR_NOENT"},
		{s.URL + "/pub/a.txt/", fetch.OpGet, fetch.ErrNotFound, "slash"},
		{s.URL + "/pub/a.txt", fetch.OpList, fetch.ErrNotRetrievable, "not a directory"},
		{s.URL + "/pub/pipe", fetch.OpGet, fetch.ErrRefused, "neither a file nor a directory"},
		{s.URL + "/pub/denied", fetch.OpGet, fetch.ErrRefused, "NFS3ERR_ACCES"},
		{s.URL + "/secret", fetch.OpGet, fetch.ErrRefused, "NFS3ERR_ACCES"},
		{kerberos.URL + "/pub/a.txt", fetch.OpGet, fetch.ErrAuth, "Kerberos"},
		{strangers.URL + "/pub/a.txt", fetch.OpGet, fetch.ErrAuth, "AUTH_TOOWEAK"},
		{newer.URL + "/pub/a.txt", fetch.OpGet, fetch.ErrRefused, "versions: 4 to 4"},
		{silent.URL + "/pub/a.txt", fetch.OpGet, fetch.ErrRefused, "PROG_UNAVAIL"},
	} {
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(tt.url), Op: tt.op})
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%v %s: error %v, want one of class %q with %q", tt.op, tt.url, err, tt.want, tt.text)
		}
		if e := (*fetch.Error)(nil); errors.As(err, &e) && (e.Code == fetch.ErrAuth || strings.HasSuffix(tt.text, "ACCES")) && e.Hint == "" {
			t.Errorf("%s: no hint with %v", tt.url, err)
		}
	}
}

// denying refuses the file "denied".
type denying struct{ fstest.MapFS }

func (d denying) Lstat(name string) (fs.FileInfo, error) {
	if name == "pub/denied" {
		return nil, fs.ErrPermission
	}
	return d.MapFS.Lstat(name)
}

func TestUserIsSentInCredentials(t *testing.T) {
	t.Parallel()
	s := nfsd.Start(t, nfsd.Options{Tree: tree(), Users: []uint32{1000}})
	c := client(t, Options{User: &User{UID: 1000, GID: 100}}, &fetch.Options{Policy: &fetch.Policy{AllowRedirects: []string{"nfs"}}})
	drive.Gets(t, c, s.URL+"/pub/a.txt", "content of a")
	// A request from another origin is sent as nobody, not as the user.
	u := uri.MustParse(s.URL + "/pub/a.txt")
	if _, err := c.Do(t.Context(), &fetch.Request{URL: u, From: uri.MustParse("http://127.0.0.2/page")}); !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("from another origin: %v", err)
	}
	open := nfsd.Start(t, nfsd.Options{Tree: tree(), Flavors: []uint32{nfs3.FlavorNone}, Users: []uint32{0, 1000}})
	drive.Gets(t, c, open.URL+"/pub/a.txt", "content of a") // with AUTH_NONE
}

func TestMountIsFoundByThePortMapper(t *testing.T) {
	t.Parallel()
	files := nfsd.Start(t, nfsd.Options{Tree: tree(), Without: []uint32{nfs3.ProgramMount, nfs3.ProgramPortmap}})
	mountd := nfsd.Start(t, nfsd.Options{Tree: tree(), Without: []uint32{nfs3.ProgramNFS}})
	for _, opts := range []Options{{PortmapPort: mountd.Port}, {MountPort: mountd.Port, PortmapPort: 1}} {
		if got, err := drive.Get(t, client(t, opts, nil), files.URL+"/pub/a.txt"); got != "content of a" || err != nil {
			t.Errorf("%+v: %q, %v", opts, got, err)
		}
	}
	if n := mountd.Mounted(); n != 0 {
		t.Errorf("%d mounts were not unmounted", n)
	}
	for port, want := range map[uint16]fetch.Code{25: fetch.ErrPolicy, 1: fetch.ErrPolicy} {
		mapper := nfsd.Start(t, nfsd.Options{Tree: tree(), MountPort: port})
		if _, err := drive.Get(t, client(t, Options{PortmapPort: mapper.Port}, nil), files.URL+"/pub/a.txt"); !errors.Is(err, want) {
			t.Errorf("port %d: error %v, want one of class %q", port, err, want)
		}
	}
}

func TestExportsAreListed(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		s := nfsd.Start(t, nfsd.Options{Tree: tree(), Exports: []string{"/pub/sub", "/pub", "/other/deep/er", "relative"}, Quiet: quiet})
		c := client(t, Options{}, nil)
		if got, err := drive.Get(t, c, s.URL+"/pub/sub/b"); got != "b" || err != nil {
			t.Errorf("quiet %v: %q, %v", quiet, got, err)
		}
		if quiet {
			continue
		}
		for url, want := range map[string]string{"/": "other/ pub/ ", "": "other/ pub/ ", "//": "/other/ /pub/ ", "/other/deep": "other/deep/er/ "} {
			got := ""
			for e, err := range c.List(t.Context(), s.URL+url) {
				if err != nil {
					t.Fatalf("%q: %v", url, err)
				}
				got += strings.TrimPrefix(e.URL.String(), s.URL+"/") + " "
			}
			if got != want {
				t.Errorf("%q: %q, want %q", url, got, want)
			}
		}
		if m, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/other")}); err != nil || m.Kind != fetch.KindListing {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

func TestStaleHandlesAreLookedUpAgain(t *testing.T) {
	t.Parallel()
	s := nfsd.Start(t, nfsd.Options{Tree: tree(), Exports: []string{"/pub"}})
	c := client(t, Options{}, nil)
	for range 2 {
		drive.Gets(t, c, s.URL+"/pub/a.txt", "content of a")
		s.Forget()
	}
}

func TestResumeNeedsTheSameFile(t *testing.T) {
	t.Parallel()
	s := nfsd.Start(t, nfsd.Options{Tree: tree(), Public: "."})
	c := client(t, Options{}, nil)
	u := uri.MustParse(s.URL + "/pub/large")
	size := int64(len(large))
	meta, err := c.Stat(t.Context(), &fetch.Request{URL: u})
	if err != nil || meta.ETag == "" || !meta.ModTime.Equal(changed) || meta.Size != size {
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
		{fetch.Validator{ModTime: changed}, true},
		{fetch.Validator{ETag: `"other"`}, false},
		{fetch.Validator{ModTime: changed.Add(time.Second)}, false},
	} {
		resp, err := c.Do(t.Context(), &fetch.Request{URL: u, IfChanged: tt.known, Range: fetch.Range{Offset: size / 2}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		want := size
		if tt.part {
			want = size / 2
		}
		if n != want || resp.Range.IsZero() == tt.part || err != nil {
			t.Errorf("%+v: %d bytes, %+v, %v", tt.known, n, resp.Meta, err)
		}
	}
	if _, err := c.Do(t.Context(), &fetch.Request{URL: u, Range: fetch.Range{Offset: size + 1}}); !errors.Is(err, fetch.ErrRange) {
		t.Errorf("behind the end: error %v, want one of class %q", err, fetch.ErrRange)
	}
}

// A grownFS states a size for the file "grown" that is smaller than the file.
type grownFS struct {
	fstest.MapFS
	size int64
}

func (g grownFS) Lstat(name string) (fs.FileInfo, error) {
	info, err := g.MapFS.Lstat(name)
	if name == "grown" {
		info = grownInfo{info, g.size}
	}
	return info, err
}

type grownInfo struct {
	fs.FileInfo
	size int64
}

func (i grownInfo) Size() int64 { return i.size }

func TestAFileThatIsLongerThanItsSizeHasChanged(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 1, 1000, 1 << 20, int64(len(large)) - 1, int64(len(large))} {
		s := nfsd.Start(t, nfsd.Options{Tree: grownFS{fstest.MapFS{"grown": {Data: large, Mode: 0o644}}, size}})
		c := client(t, Options{}, nil)
		want := fetch.ErrChanged
		if size == int64(len(large)) {
			want = ""
		}
		for _, part := range []fetch.Range{{}, {Offset: size / 2}, {Length: size / 2}} {
			n, want := size-part.Offset, want
			if part.Length > 0 { // a part that ends earlier does not show it
				n, want = part.Length, ""
			}
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/grown"), Range: part})
			var got []byte
			if err == nil {
				got, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if fetch.CodeOf(err) != want || int64(len(got)) != n {
				t.Errorf("%+v of %d bytes: %d bytes, %v, want class %q", part, size, len(got), err, want)
			}
		}
	}
}

// A rewrittenFS has the old tree until its files have been opened a number of times, and then the new one.
type rewrittenFS struct {
	fstest.MapFS
	rewritten fstest.MapFS
	opens     atomic.Int32 // that are left
}

func (r *rewrittenFS) current() fstest.MapFS {
	if r.opens.Load() > 0 {
		return r.MapFS
	}
	return r.rewritten
}

func (r *rewrittenFS) Lstat(name string) (fs.FileInfo, error) { return r.current().Lstat(name) }

func (r *rewrittenFS) Open(name string) (fs.File, error) {
	f, err := r.current().Open(name)
	r.opens.Add(-1)
	return f, err
}

// TestFilesThatAreRewrittenHaveChanged rewrites a file between two of its READs. A mixture of both versions has
// the right size. The replies have the time of the file (RFC 1813, section 3.3.6).
func TestFilesThatAreRewrittenHaveChanged(t *testing.T) {
	t.Parallel()
	const size = 300_000 // three READs
	file := func(content string, at int64) fstest.MapFS {
		return fstest.MapFS{"f": {Data: []byte(strings.Repeat(content, size)), Mode: 0o644, ModTime: time.Unix(at, 0)}}
	}
	for opens := range int32(7) {
		for _, part := range []fetch.Range{{}, {Offset: 1}, {Length: size - 1}} {
			tree := &rewrittenFS{MapFS: file("a", 1000), rewritten: file("b", 1001)}
			tree.opens.Store(opens)
			s := nfsd.Start(t, nfsd.Options{Tree: tree})
			got, err := drive.Read(client(t, Options{}, nil).Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/f"), Range: part}))
			mixed := strings.Contains(got, "a") && strings.Contains(got, "b")
			if opens == 0 && err != nil || err == nil && mixed || err != nil && fetch.CodeOf(err) != fetch.ErrChanged {
				t.Errorf("rewritten after %d READs, %+v: %d bytes, mixed %v, %v", opens, part, len(got), mixed, err)
			}
		}
	}
}

func TestTruncationIsDetected(t *testing.T) {
	t.Parallel()
	s := nfsd.Start(t, nfsd.Options{Tree: tree()})
	c := client(t, Options{}, nil)
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
		s.Arm(servers.Failure{Fault: tt.fault, After: 1_000_000})
		if got, err := drive.Get(t, c, s.URL+"/pub/large"); !errors.Is(err, tt.want) || !strings.HasPrefix(string(large), got) {
			t.Errorf("%v: %d bytes, error %v, want one of class %q", tt.fault, len(got), err, tt.want)
		}
	}
	s.Fail(servers.Split)
	if got, err := drive.Get(t, c, s.URL+"/pub/a.txt"); got != "content of a" || err != nil {
		t.Errorf("%v: %q, %v", servers.Split, got, err)
	}
	for _, on := range []string{"LOOKUP", "GETATTR", "READ"} {
		if _, err := drive.Get(t, c, s.URL+"/pub/a.txt"); err != nil { // a connection is kept
			t.Fatal(err)
		}
		s.Arm(servers.Failure{Fault: servers.Cut, On: on, After: -1})
		if got, err := drive.Get(t, c, s.URL+"/pub/a.txt"); got != "content of a" || err != nil {
			t.Errorf("a reused connection that is cut at %s: %q, %v", on, got, err)
		}
		s.Arm(servers.Failure{})
	}
}

// TestSizesThatOverflow uses sizes of 2^63 bytes and more, which overflow an int64.
func TestSizesThatOverflow(t *testing.T) {
	t.Parallel()
	for _, size := range []uint64{1 << 63, 1<<64 - 1} {
		s := servers.Start(t, servers.Config{Scheme: "nfs"}, replyServer(lookupReply(nfs3.TypeRegular, size)))
		c := client(t, Options{}, nil)
		u := uri.MustParse(s.URL + "/x")
		for _, req := range []*fetch.Request{{URL: u}, {URL: u, Range: fetch.Range{Offset: 5}}, {URL: u, Range: fetch.Range{Length: 5}}} {
			if _, err := c.Do(t.Context(), req); !errors.Is(err, fetch.ErrProtocol) {
				t.Errorf("%d bytes, range %v: error %v, want one of class %q", size, req.Range, err, fetch.ErrProtocol)
			}
		}
		if meta, err := c.Stat(t.Context(), &fetch.Request{URL: u}); err != nil || meta.Size != -1 {
			t.Errorf("%d bytes: size %v, %v", size, meta, err)
		}
	}
}

func TestReplyTimeout(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	more := &fetch.Options{Timeouts: fetch.Timeouts{Reply: limit, Idle: limit}}
	var all sync.WaitGroup // in parallel, because they mostly wait
	for _, on := range []string{"EXPORT", "MNT", "LOOKUP", "READ"} {
		s := nfsd.Start(t, nfsd.Options{Tree: tree()})
		c := client(t, Options{}, more)
		s.Arm(servers.Failure{Fault: servers.Stall, On: on, After: -1})
		all.Go(func() {
			if _, err := drive.Get(t, c, s.URL+"/pub/a.txt"); !errors.Is(err, fetch.ErrNetwork) || !strings.Contains(err.Error(), limit.String()) {
				t.Errorf("a server that is silent to %s: error %v, want one of class %q", on, err, fetch.ErrNetwork)
			}
			s.Arm(servers.Failure{})
			if got, err := drive.Get(t, c, s.URL+"/pub/a.txt"); got != "content of a" || err != nil {
				t.Errorf("after %s: %q, %v", on, got, err)
			}
		})
	}
	all.Wait()
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := nfsd.Start(t, nfsd.Options{Tree: tree()})
	c := client(t, Options{}, nil)
	var wg sync.WaitGroup
	for i := range 64 {
		url, want := s.URL+"/pub/large", len(large)
		if i%2 == 0 {
			url, want = s.URL+"/pub/a.txt", 12
		}
		wg.Go(func() {
			if got, err := drive.Get(t, c, url); len(got) != want || err != nil {
				t.Errorf("%s: %d bytes, %v", url, len(got), err)
			}
		})
	}
	wg.Wait()
	if n := s.Accepted(); n > maxConns+1 {
		t.Errorf("%d connections", n)
	}
}

func TestLargeListing(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for i := range 3000 {
		files[fmt.Sprintf("file %d", i)] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	}
	for _, opts := range []nfsd.Options{{}, {NoPlus: true}} {
		opts.Tree = files
		s := nfsd.Start(t, opts)
		seen := make(map[string]bool)
		for _, e := range drive.MustList(t, client(t, Options{}, nil), s.URL+"/") {
			if e.Size != 1 {
				t.Fatalf("%+v", e)
			}
			seen[e.Name] = true
		}
		if len(seen) != len(files) {
			t.Errorf("%d entries", len(seen))
		}
	}
}

func TestReadsAheadAreBounded(t *testing.T) {
	t.Parallel()
	s := nfsd.Start(t, nfsd.Options{Tree: fstest.MapFS{"huge": {Data: make([]byte, 8<<20), Mode: 0o644}}})
	resp, err := client(t, Options{}, nil).Get(t.Context(), s.URL+"/huge")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.CopyN(io.Discard, resp.Body, 4<<20); err != nil {
		t.Fatal(err)
	}
	if ahead := s.Served() - 4<<20; ahead > (lastWindow+1)*maxData {
		t.Errorf("%d bytes were read ahead", ahead)
	}
}

// TestMemory checks the heap while reading a large file.
func TestMemory(t *testing.T) {
	content := make([]byte, 64<<20)
	s := nfsd.Start(t, nfsd.Options{Tree: fstest.MapFS{"huge": {Data: content, Mode: 0o644}}})
	c := client(t, Options{}, nil)
	fetchtest.LiveHeap(t, 32<<20, func() {
		if resp, err := c.Get(t.Context(), s.URL+"/huge"); err != nil {
			t.Error(err)
		} else if n, err := io.Copy(io.Discard, resp.Body); n != 64<<20 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

func TestInvalidNamesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../up", "a/b", "", "a\x00b"} {
		s := servers.Start(t, servers.Config{Scheme: "nfs"}, listServer(name))
		var err error
		for _, err = range client(t, Options{}, nil).List(t.Context(), s.URL+"/") {
		}
		if !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("%q: error %v, want one of class %q", name, err, fetch.ErrProtocol)
		}
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	s := nfsd.Start(t, nfsd.Options{Tree: tree(), Exports: []string{"/pub"}})
	var mu sync.Mutex
	var lines []string
	c := client(t, Options{}, &fetch.Options{Recorder: fetch.RecordLines(func(_ bool, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	})})
	drive.MustGet(t, c, s.URL+"/pub/a.txt")
	mu.Lock()
	defer mu.Unlock()
	want := "LOOKUP pub/a.txt|NFS3ERR_BADHANDLE|EXPORT |MNT /pub|NFS3_OK|UMNT /pub|GETATTR /pub|NFS3_OK|LOOKUP a.txt|NFS3_OK|READ bytes 0 to 12"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
