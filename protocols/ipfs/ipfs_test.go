package ipfs

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
)

// The blocks are those that boxo v0.43.0 writes.
func TestBlocksOfBoxo(t *testing.T) {
	t.Parallel()
	s := boxo(t)
	c := drive.Client(t, nil, load(s.url))
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	for _, name := range []string{"trickle.txt", "balanced.txt", "v0.txt", "blake.txt"} {
		drive.Gets(t, c, s.urlOf("/"+name), text.String())
		part, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(s.urlOf("/" + name)), Range: fetch.Range{Offset: 333, Length: 444}})
		if want := text.String()[333:777]; err != nil || part != want || resp.Total != int64(text.Len()) {
			t.Errorf("%s: part %q, %v", name, part, err)
		}
	}
	for i := range 150 {
		drive.Gets(t, c, s.urlOf(fmt.Sprintf("/sharded/a%%20name%%20of%%20the%%20file%%20%d", i)), "same\n")
	}
	drive.Fails(t, c, s.urlOf("/sharded/a%20name%20of%20the%20file%20150"), fetch.ErrNotFound)
	if all := drive.MustList(t, c, s.urlOf("/sharded/")); len(all) != 150 {
		t.Errorf("%d entries", len(all))
	}
	for _, e := range drive.MustList(t, c, s.urlOf("/")) {
		switch {
		case e.Name == "sharded" && e.Kind == fetch.EntryListing && strings.HasSuffix(e.URL.String(), "/sharded/"):
		case e.Name == "timed.txt" && e.Size == 6 && e.ModTime.Equal(time.Unix(1e9, 0)):
		case e.Size == int64(text.Len()) && e.Kind == fetch.EntryObject && e.Sys.(Sys).CID != "":
		default:
			t.Errorf("%+v", e)
		}
	}
}

// A part of a file needs only the blocks on the way to it.
func TestRangesRequestFewBlocks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	content := make([]byte, 600*chunk)
	rand.Read(content)
	s.root = s.addFile(content).id
	c := drive.Client(t, nil, load(s.url))
	part, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(s.urlOf("")), Range: fetch.Range{Offset: 300*chunk + 5, Length: chunk}})
	if err != nil || part != string(content[300*chunk+5:301*chunk+5]) || s.requests() > 10 {
		t.Errorf("%d requests, %v", s.requests(), err)
	}
	drive.Gets(t, c, s.urlOf(""), string(content))
}

// No byte of a gateway that lies reaches the caller.
func TestLyingGateways(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789"), 500) // of two levels
	other := bytes.Repeat([]byte("x"), chunk)
	for name, tt := range map[string]struct {
		lie  func(w http.ResponseWriter, r *http.Request, block []byte) bool
		code fetch.Code
	}{
		"another byte": {func(w http.ResponseWriter, _ *http.Request, b []byte) bool {
			b = bytes.Clone(b)
			b[len(b)/2] ^= 1
			w.Write(b)
			return true
		}, fetch.ErrProtocol},
		"other content": {func(w http.ResponseWriter, _ *http.Request, b []byte) bool { w.Write(other); return true }, fetch.ErrProtocol},
		"more content": {func(w http.ResponseWriter, _ *http.Request, b []byte) bool {
			w.Write(append(b[:len(b):len(b)], 'x'))
			return true
		}, fetch.ErrProtocol},
		"less content": {func(w http.ResponseWriter, _ *http.Request, b []byte) bool { w.Write(b[1:]); return true }, fetch.ErrProtocol},
		"nothing":      {func(http.ResponseWriter, *http.Request, []byte) bool { return true }, fetch.ErrProtocol},
		"a page":       {func(w http.ResponseWriter, _ *http.Request, _ []byte) bool { io.WriteString(w, "<html>"); return true }, fetch.ErrProtocol},
		"without end":  {endless, fetch.ErrProtocol},
		"cut off": {func(w http.ResponseWriter, _ *http.Request, b []byte) bool {
			w.Header().Set("Content-Length", "9000")
			w.Write(b)
			return true
		}, fetch.ErrTruncated},
		"not found":        {func(w http.ResponseWriter, _ *http.Request, _ []byte) bool { w.WriteHeader(404); return true }, fetch.ErrNotFound},
		"no such provider": {func(w http.ResponseWriter, _ *http.Request, _ []byte) bool { w.WriteHeader(504); return true }, fetch.ErrServer},
		"a login": {func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
			w.Header().Set("WWW-Authenticate", "Basic realm=x")
			w.WriteHeader(401)
			return true
		}, fetch.ErrAuth},
	} {
		for _, only := range []string{"", "leaves", "last"} { // the blocks that the gateway lies about
			t.Run(name+" "+only, func(t *testing.T) {
				t.Parallel()
				s := startServer(t)
				s.root = s.addFile(content).id
				last := s.add(codecRaw, content[4*chunk:])
				s.lie = func(w http.ResponseWriter, r *http.Request, b []byte) bool {
					if only == "leaves" && len(b) != chunk || only == "last" && !strings.Contains(r.URL.Path, last.String()) {
						return false
					}
					return tt.lie(w, r, b)
				}
				c := drive.Client(t, nil, load(s.url))
				got, err := drive.Get(t, c, s.urlOf(""))
				if fetch.CodeOf(err) != tt.code {
					t.Errorf("%v, want class %q", err, tt.code)
				}
				if len(got) == len(content) || !strings.HasPrefix(string(content), got) {
					t.Errorf("%d bytes were returned", len(got))
				}
			})
		}
	}
}

func endless(w http.ResponseWriter, r *http.Request, _ []byte) bool {
	for r.Context().Err() == nil {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			break
		}
	}
	return true
}

// Blocks that match their names may be malformed, too.
func TestMalformedFiles(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	leaf := child{id: s.add(codecRaw, []byte("leaf")), size: 4}
	dir := s.addNode(typeDirectory, nil, nil)
	dir.size = 4
	deep := leaf
	for range maxDepth + 1 {
		deep = s.addNode(typeFile, nil, []child{deep})
	}
	twisted := s.addNode(typeShard, []byte{1}, []child{{id: leaf.id, name: "0name"}}, shardFields...)
	hollow := s.addNode(typeShard, []byte{1}, nil, shardFields...)
	hollow.name = "0"
	for name, tt := range map[string]struct {
		id   cid
		op   fetch.Op
		code fetch.Code
	}{
		"a part is shorter":          {id: s.addNode(typeFile, nil, []child{{id: leaf.id, size: 5}}).id, code: fetch.ErrProtocol},
		"a part is longer":           {id: s.addNode(typeFile, nil, []child{{id: leaf.id, size: 3}}).id, code: fetch.ErrProtocol},
		"a part is a directory":      {id: s.addNode(typeFile, nil, []child{dir}).id, code: fetch.ErrProtocol},
		"another sum of sizes":       {id: s.add(codecDagPB, encode(typeFile, nil, []child{leaf}, 5)), code: fetch.ErrProtocol},
		"more sizes than links":      {id: s.addNode(typeFile, nil, nil, number(nil, 4, 1)...).id, code: fetch.ErrProtocol},
		"sizes overflow":             {id: s.addNode(typeFile, nil, []child{{id: leaf.id, size: 1 << 62}, {id: leaf.id, size: 1 << 62}}).id, code: fetch.ErrProtocol},
		"too deep":                   {id: deep.id, code: fetch.ErrProtocol},
		"not UnixFS":                 {id: s.add(codecDagPB, message(nil, 1, []byte{0xff})), code: fetch.ErrProtocol},
		"not dag-pb":                 {id: s.add(codecDagPB, []byte("\x0a\x7f")), code: fetch.ErrProtocol},
		"another type":               {id: s.addNode(3, nil, nil).id, code: fetch.ErrProtocol},
		"an empty symbolic link":     {id: s.addNode(typeSymlink, nil, nil).id, code: fetch.ErrProtocol},
		"a symbolic link to itself":  {id: s.addNode(typeSymlink, []byte("."), nil).id, code: fetch.ErrServer},
		"an absolute symbolic link":  {id: s.addNode(typeSymlink, []byte("/etc/passwd"), nil).id, code: fetch.ErrPolicy},
		"a symbolic link that rises": {id: s.addNode(typeSymlink, []byte(".."), nil).id, code: fetch.ErrPolicy},
		"a slash in a name":          {id: s.addNode(typeDirectory, nil, []child{{id: leaf.id, name: "a/b"}}).id, op: fetch.OpList, code: fetch.ErrProtocol},
		"a long name":                {id: s.addNode(typeDirectory, nil, []child{{id: leaf.id, name: strings.Repeat("x", maxName+1)}}).id, op: fetch.OpList, code: fetch.ErrProtocol},
		"a misplaced name":           {id: twisted.id, op: fetch.OpList, code: fetch.ErrProtocol},
		"an empty shard":             {id: s.addNode(typeShard, []byte{1}, []child{hollow}, shardFields...).id, op: fetch.OpList, code: fetch.ErrProtocol},
		"a shard that is a file":     {id: s.addNode(typeShard, []byte{1}, []child{{id: leaf.id, name: "0"}}, shardFields...).id, op: fetch.OpList, code: fetch.ErrProtocol},
		"another hash of names":      {id: s.addNode(typeShard, []byte{1}, nil, number(number(nil, 5, 1), 6, 16)...).id, op: fetch.OpList, code: fetch.ErrProtocol},
		"another fanout":             {id: s.addNode(typeShard, []byte{1}, nil, number(number(nil, 5, 0x22), 6, 1<<20)...).id, op: fetch.OpList, code: fetch.ErrProtocol},
		"another codec":              {id: s.add(0x71, nil), code: fetch.ErrNotRetrievable},
		"another hash":               {id: s.put(cid{codecRaw, 0x13, strings.Repeat("x", 64)}, nil), code: fetch.ErrNotRetrievable},
		"a short digest":             {id: s.put(cid{codecRaw, hashSHA256, "xx"}, nil), code: fetch.ErrNotRetrievable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, nil, load(s.url))
			url := "ipfs://" + tt.id.String()
			var err error
			if tt.op == fetch.OpList {
				_, err = drive.List(t, c, url+"/")
			} else {
				_, err = drive.Get(t, c, url)
			}
			if fetch.CodeOf(err) != tt.code {
				t.Errorf("%v, want class %q", err, tt.code)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	file := s.addFile([]byte("text\n"))
	named := func(c child, name string) child { c.name = name; return c }
	symlink := func(name, target string) child { return named(s.addNode(typeSymlink, []byte(target), nil), name) }
	inline := child{id: cid{codecRaw, hashInline, "inline\n"}, name: "inline"}
	blaked := child{id: s.put(blake([]byte("blake\n")), []byte("blake\n")), name: "blake"}
	gone := child{id: cid{codecDagPB, hashSHA256, strings.Repeat("x", 32)}, name: "gone"}
	sub := named(s.addNode(typeDirectory, nil, []child{symlink("up", "../file"), symlink("out", "../../file")}), "sub")
	s.root = s.addNode(typeDirectory, nil, []child{blaked, named(file, "file"), gone, inline, symlink("link", "sub/up"),
		symlink("loop", "loop"), symlink("dir", "./sub"), sub}).id
	c := drive.Client(t, nil, load(s.url))
	for path, want := range map[string]string{
		"/file": "text\n", "/sub/../file": "text\n", "/../file?x=y#z": "text\n", "/sub/up": "text\n", "/link": "text\n",
		"/dir/up": "text\n", "/inline": "inline\n", "/blake": "blake\n",
	} {
		drive.Gets(t, c, s.urlOf(path), want)
	}
	for path, code := range map[string]fetch.Code{
		"/none": fetch.ErrNotFound, "/file/x": fetch.ErrNotFound, "/file/": fetch.ErrNotFound, "/sub/out": fetch.ErrPolicy,
		"/loop": fetch.ErrServer, "/a%2Fb": fetch.ErrURL, "/a%00b": fetch.ErrURL, "/gone": fetch.ErrNotFound,
	} {
		drive.Fails(t, c, s.urlOf(path), code)
	}
	for _, url := range []string{"ipfs://x/", "ipfs://joe@" + s.root.String() + "/", "ipfs://" + s.root.String() + ":80/"} {
		drive.Fails(t, c, url, fetch.ErrURL)
	}
	var listed []string
	for _, e := range drive.MustList(t, c, s.urlOf("")) {
		listed = append(listed, fmt.Sprint(e.Kind, " ", e.Name, " ", e.Size, " ", e.Sys.(Sys).Target))
	}
	want := "object blake 0 |object file 5 |object gone -1 |object inline 0 |object link 5 sub/up|object loop -1 loop|" +
		"listing dir -1 ./sub|listing sub -1 "
	if got := strings.Join(listed, "|"); got != want {
		t.Errorf("listing %s\nwant    %s", got, want)
	}
}

func TestValidators(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.root = s.addFile([]byte("text\n")).id
	c := drive.Client(t, nil, load(s.url))
	u := uri.MustParse(s.urlOf(""))
	meta, err := c.Stat(t.Context(), &fetch.Request{URL: u})
	if err != nil || meta.Size != 5 || meta.ETag != `"`+s.root.String()+`"` || len(meta.Digests) != 1 || meta.Name != s.root.String() {
		t.Fatalf("%+v, %v", meta, err)
	}
	if _, _, err := drive.Do(t, c, &fetch.Request{URL: u, IfChanged: meta.Validator}); !errors.Is(err, fetch.ErrNotModified) {
		t.Errorf("%v", err)
	}
}

func TestGateways(t *testing.T) {
	s := startServer(t)
	s.root = s.addFile([]byte("text\n")).id
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("IPFS_PATH", "")
	t.Setenv("IPFS_GATEWAY", "")
	err := func() error { _, err := drive.Get(t, drive.Client(t, nil, load("")), s.urlOf("")); return err }()
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrNoServer || e.Reason.Kind != fetch.ReasonGateway {
		t.Errorf("%v", err)
	}
	for _, wrong := range []string{"ftp://h/", "http://", "http://h/?x", "h h"} {
		drive.Fails(t, drive.Client(t, nil, load(wrong)), s.urlOf(""), fetch.ErrURL)
	}
	if err := os.Mkdir(home+"/.ipfs", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/.ipfs/gateway", []byte(s.url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	drive.Gets(t, drive.Client(t, nil, load("")), s.urlOf(""), "text\n")
	t.Setenv("IPFS_GATEWAY", "http://127.0.0.1:25")
	drive.Fails(t, drive.Client(t, nil, load("")), s.urlOf(""), fetch.ErrPolicy)
	drive.Gets(t, drive.Client(t, nil, load(strings.TrimPrefix(s.url, "http://")+"/")), s.urlOf(""), "text\n")
}

// The login of the gateway is sent to it, and is in no message.
func TestGatewayLogin(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.root = s.addFile([]byte("text\n")).id
	s.lie = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if user, password, ok := r.BasicAuth(); !ok || user != "joe" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	}
	gateway := strings.Replace(s.url, "//", "//joe:secret@", 1)
	drive.Gets(t, drive.Client(t, nil, load(gateway)), s.urlOf(""), "text\n")
	_, err := drive.Get(t, drive.Client(t, nil, load(gateway+"/x")), s.urlOf(""))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	x, err := drive.Client(t, nil, load(gateway)).Explain(&fetch.Request{URL: uri.MustParse(s.urlOf("/d/f"))})
	if err != nil || len(x.Steps) != 3 || strings.Contains(fmt.Sprint(x.Steps), "secret") {
		t.Errorf("%+v, %v", x, err)
	}
}

// The blocks of a file that were requested and not read yet are few.
func TestFewBlocksAreInMemory(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	content := make([]byte, 100*chunk)
	rand.Read(content)
	s.root = s.addFile(content).id
	c := drive.Client(t, nil, load(s.url))
	resp, err := c.Get(t.Context(), s.urlOf(""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, chunk)
	for read := range 100 {
		if _, err := io.ReadFull(resp.Body, buf); err != nil || !bytes.Equal(buf, content[read*chunk:(read+1)*chunk]) {
			t.Fatalf("part %d: %v", read, err)
		}
		if n := s.requests() - read; n > 25 { // with the blocks above
			t.Fatalf("%d blocks more than were read", n)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c cache
	block := make([]byte, maxCachedBlock)
	id := func(i int) cid { return cid{codecDagPB, hashInline, fmt.Sprint(i)} }
	for i := range 100 {
		c.put(id(i), block)
		c.put(id(i), block)
	}
	c.put(id(1000), make([]byte, maxCachedBlock+1))
	if _, ok := c.get(id(99)); !ok || c.size > maxCached || len(c.blocks) != maxCached/maxCachedBlock || len(c.order) != len(c.blocks) {
		t.Errorf("%d blocks of %d bytes together", len(c.blocks), c.size)
	}
}
