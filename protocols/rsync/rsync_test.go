package rsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/rsyncd"
	"github.com/urlget/urlget/internal/codec/rsync"
)

var changed = time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)

var large = bytes.Repeat([]byte("0123456789abcdef"), 1<<13)

func tree() fstest.MapFS {
	return fstest.MapFS{
		"a.txt":          {Data: []byte("content of a"), Mode: 0o640, ModTime: changed},
		"empty":          {Mode: 0o644, ModTime: changed},
		"large":          {Data: large, Mode: 0o644, ModTime: changed},
		"link":           {Data: []byte("a.txt"), Mode: fs.ModeSymlink | 0o777},
		"dirlink":        {Data: []byte("sub"), Mode: fs.ModeSymlink | 0o777},
		"pipe":           {Mode: fs.ModeNamedPipe | 0o644},
		"we?rd [*]\\ é":  {Data: []byte("odd")},
		"sub/b":          {Data: []byte("b"), ModTime: changed},
		"sp files/c":     {Data: []byte("c")},
		"sub/two\nlines": {Data: []byte("x")},
		"-rf":            {Data: []byte("an option")},
	}
}

func client(t testing.TB, o *fetch.Options) *fetch.Client {
	t.Helper()
	return drive.Client(t, o, Load)
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	s := rsyncd.Start(t, rsyncd.Options{Tree: denying{tree()}})
	old := rsyncd.Start(t, rsyncd.Options{Tree: denying{tree()}, Protocol: 27})
	older := rsyncd.Start(t, rsyncd.Options{Protocol: 26})
	for _, tt := range []struct {
		url  string
		op   fetch.Op
		want fetch.Code
		text string
	}{
		{s.URL + "/none/a", fetch.OpGet, fetch.ErrNotFound, "Unknown module 'none'"},
		{s.URL + "/files/none", fetch.OpGet, fetch.ErrNotFound, "No such file or directory"},
		{s.URL + "/files/none/", fetch.OpList, fetch.ErrNotFound, "No such file or directory"},
		{s.URL + "/files/a.txt/", fetch.OpStat, fetch.ErrNotFound, "slash"},
		{s.URL + "/files/a.txt", fetch.OpList, fetch.ErrNotRetrievable, "not a directory"},
		{s.URL + "/files/pipe", fetch.OpGet, fetch.ErrRefused, "neither a file nor a directory"},
		{s.URL + "/files/denied", fetch.OpGet, fetch.ErrRefused, "Permission denied"},
		{old.URL + "/files/denied", fetch.OpGet, fetch.ErrRefused, "Permission denied"},
		{old.URL + "/files/none", fetch.OpGet, fetch.ErrNotFound, "No such file or directory"},
		{older.URL + "/files/a.txt", fetch.OpGet, fetch.ErrRefused, "version 26"},
	} {
		resp, err := client(t, nil).Do(t.Context(), &fetch.Request{URL: uri.MustParse(tt.url), Op: tt.op})
		if err == nil {
			resp.Body.Close()
		}
		if fetch.CodeOf(err) != tt.want || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%v %s: error %v, want one of class %q with %q", tt.op, tt.url, err, tt.want, tt.text)
		}
	}
}

// denying lists the file "denied" and refuses to open it.
type denying struct{ fstest.MapFS }

func (d denying) Open(name string) (fs.File, error) {
	if name == "denied" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.MapFS.Open(name)
}

func (d denying) ReadFile(name string) ([]byte, error) {
	if name == "denied" {
		return nil, fs.ErrPermission
	}
	return d.MapFS.ReadFile(name)
}

func (d denying) Stat(name string) (fs.FileInfo, error) {
	if name == "denied" {
		name = "a.txt"
		info, err := d.MapFS.Stat(name)
		return renamed{info}, err
	}
	return d.MapFS.Stat(name)
}

type renamed struct{ fs.FileInfo }

func (renamed) Name() string { return "denied" }

func TestLinesWithErrors(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]struct {
		code  fetch.Code
		retry bool
	}{
		"access denied to files from h (192.0.2.1)":               {fetch.ErrRefused, false},
		"max connections (4) reached -- try again later":          {fetch.ErrBusy, true},
		"auth failed on module files":                             {fetch.ErrAuth, false},
		"Unknown module 'files'":                                  {fetch.ErrNotFound, false},
		"chroot failed":                                           {fetch.ErrServer, false},
		"\x1b[2Jyour client omitted the digest name list: \x00 x": {fetch.ErrServer, false},
	} {
		err := refusal(said)
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != want.code || e.Retry != want.retry || e.Reply.Text != said || strings.Contains(e.Error(), "\x1b") {
			t.Errorf("%q: %v", said, err)
		}
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	users := map[string]string{"joe": password}
	for name, o := range map[string]rsyncd.Options{
		"27": {Protocol: 27}, "30": {Protocol: 30}, "31": {}, "md4": {Digests: []string{"md4"}}, "sha512": {Digests: []string{"md5", "sha512"}},
	} {
		o.Tree, o.Users = tree(), users
		s := rsyncd.Start(t, o)
		login := "rsync://joe:" + uri.Escape(password) + "@"
		for url, tt := range map[string]struct {
			code   fetch.Code
			logins int
		}{
			login + s.Addr:                         {"", 1},
			"rsync://joe:wrong@" + s.Addr:          {fetch.ErrAuth, 1},
			"rsync://jim:wrong@" + s.Addr:          {fetch.ErrAuth, 1},
			"rsync://joe%20x:wrong@" + s.Addr:      {fetch.ErrAuth, 0},
			"rsync://joe@" + s.Addr:                {fetch.ErrAuth, 0},
			"rsync://" + s.Addr:                    {fetch.ErrAuth, 0},
			"rsync://joe%0A:x@" + s.Addr:           {fetch.ErrURL, 0},
			"rsync://joe%00:" + "x" + "@" + s.Addr: {fetch.ErrURL, 0},
		} {
			before := s.Logins()
			got, err := drive.Get(t, client(t, nil), url+"/files/a.txt")
			if fetch.CodeOf(err) != tt.code || err == nil && got != "content of a" || s.Logins()-before != tt.logins {
				t.Errorf("%s, %s: %q, %v after %d logins", name, url, got, err, s.Logins()-before)
			}
		}
	}
}

// TestFurtherCredentialsAreTried has a server that refuses the first passwords, each on its own connection.
func TestFurtherCredentialsAreTried(t *testing.T) {
	t.Parallel()
	s := rsyncd.Start(t, rsyncd.Options{Tree: tree(), Users: map[string]string{"joe": "wrong2"}})
	numbered := fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if ch.Mechanism != "rsync" || ch.Realm != "files" {
			t.Errorf("%+v", ch)
		}
		return fetch.Credential{User: "joe", Password: fmt.Sprint("wrong", ch.Attempt)}, nil
	})
	drive.Gets(t, client(t, &fetch.Options{Credentials: numbered}), s.URL+"/files/a.txt", "content of a")
	if s.Logins() != 2 || s.Accepted() != 2 {
		t.Errorf("%d logins on %d connections", s.Logins(), s.Accepted())
	}
	never := rsyncd.Start(t, rsyncd.Options{Tree: tree(), Users: map[string]string{"joe": "right"}})
	if _, err := drive.Get(t, client(t, &fetch.Options{Credentials: numbered}), never.URL+"/files/a.txt"); fetch.CodeOf(err) != fetch.ErrAuth || never.Logins() != maxLogins {
		t.Errorf("%v after %d logins", err, never.Logins())
	}
}

func TestPasswordIsNotRecorded(t *testing.T) {
	t.Parallel()
	s := rsyncd.Start(t, rsyncd.Options{Tree: tree(), Users: map[string]string{"joe": "secret"}})
	var lines []string
	o := &fetch.Options{Recorder: fetch.RecordLines(func(sent bool, line string) { lines = append(lines, line) })}
	drive.Gets(t, client(t, o), "rsync://joe:secret@"+s.Addr+"/files/a.txt", "content of a")
	if !slices.Contains(lines, "joe ****") || !slices.Contains(lines, "--server --sender -Lde.f . files/a.txt") {
		t.Errorf("%q", lines)
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "joe ") && line != "joe ****" || strings.Contains(line, "secret") {
			t.Errorf("recorded: %q", line)
		}
	}
}

func TestListingsDescribeMembers(t *testing.T) {
	t.Parallel()
	for protocol := rsync.MinProtocol; protocol <= rsync.MaxProtocol; protocol++ {
		s := rsyncd.Start(t, rsyncd.Options{Tree: tree(), Protocol: protocol})
		listed := map[string]string{}
		for _, e := range drive.MustList(t, client(t, nil), s.URL+"/files/") {
			sys := e.Sys.(Sys)
			listed[e.Name] = fmt.Sprint(e.Kind, " ", e.Size, " ", sys.Mode, " ", sys.Target, " ", e.ModTime.Equal(changed))
		}
		for member, want := range map[string]string{
			"a.txt": "object 12 -rw-r-----  true", "link": "object -1 Lrwxrwxrwx a.txt false", "pipe": "object -1 prw-r--r--  false",
			"sub": "listing -1 dr-xr-xr-x  false", "empty": "object 0 -rw-r--r--  true",
		} {
			if listed[member] != want {
				t.Errorf("%d: %s is %q, want %q", protocol, member, listed[member], want)
			}
		}
		if len(listed) != 10 {
			t.Errorf("%d: %v", protocol, listed)
		}
	}
}

// TestNamesWithLineEndsHaveNoURL lists a name that no request can have.
func TestNamesWithLineEndsHaveNoURL(t *testing.T) {
	t.Parallel()
	s := rsyncd.Start(t, rsyncd.Options{Tree: tree()})
	var names []string
	for _, e := range drive.MustList(t, client(t, nil), s.URL+"/files/sub/") {
		names = append(names, fmt.Sprintf("%v %q %v", e.Kind, e.Name, e.URL.IsZero()))
	}
	if want := []string{`object "b" false`, `text "two\nlines" true`}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestFilesHaveMetadata(t *testing.T) {
	t.Parallel()
	s := rsyncd.Start(t, rsyncd.Options{Tree: tree()})
	c := client(t, nil)
	u := uri.MustParse(s.URL + "/files/a.txt")
	m, err := c.Stat(t.Context(), &fetch.Request{URL: u})
	if err != nil || m.Size != 12 || !m.ModTime.Equal(changed) || m.Name != "a.txt" || m.ETag == "" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := c.Do(t.Context(), &fetch.Request{URL: u, IfChanged: m.Validator}); fetch.CodeOf(err) != fetch.ErrNotModified {
		t.Errorf("unchanged: %v", err)
	}
	resp, err := c.Do(t.Context(), &fetch.Request{URL: u, Range: fetch.Range{Offset: 3}})
	if err == nil {
		defer resp.Body.Close()
		if got, err := io.ReadAll(resp.Body); string(got) != "content of a" || !resp.Range.IsZero() || err != nil {
			t.Errorf("a range: %q, %+v, %v", got, resp.Range, err)
		}
	}
	for url, want := range map[string]string{"/files/sub": "/files/sub/", "/files/dirlink": "/files/dirlink/", "/files": "/files/", "": "/"} {
		for _, op := range []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList} {
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + url), Op: op})
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.Kind != fetch.KindListing || resp.URL.String() != s.URL+want {
				t.Errorf("%v %s: %v %s", op, url, resp.Kind, resp.URL)
			}
		}
	}
}

// TestNamesAreSentLiterally requests names with wildcards, and a path that servers would take for two.
func TestNamesAreSentLiterally(t *testing.T) {
	t.Parallel()
	s := rsyncd.Start(t, rsyncd.Options{Tree: tree()})
	drive.Gets(t, client(t, nil), s.URL+"/files/we%3Frd%20%5B*%5D%5C%20%C3%A9", "odd")
	drive.Gets(t, client(t, nil), s.URL+"/files/sp%20files/c", "c")
	drive.Gets(t, client(t, nil), s.URL+"/files/-rf", "an option")
	for url, want := range map[string]string{
		"/m/a%20b":          "m/a b",
		"/m/a%5Cb":          `m/a\b`,
		"/m/a*%5C%3F%5B/x?": `m/a\*\\\?\[/x\?`,
		"/m/a%20m/b":        "m/a[ ]m/b",
		"/m//a/":            "m/a",
		"/m":                "m/",
		"/m/-rf/-x":         "m/./-rf/-x",
	} {
		target, err := newTarget(&fetch.Request{URL: uri.MustParse("rsync://h" + url)})
		if err != nil || target.path(false) != want {
			t.Errorf("%s: %q, %v; want %q", url, target.path(false), err, want)
		}
	}
}

func TestInvalidURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"rsync:/m/a", "rsync://h/m/a%0Ab", "rsync://h/m%0D/a", "rsync://h/m/a%00", "rsync://h/m/a%2Fb", "rsync://h/m/%2E%2E/b",
		"rsync://h/%23list", "rsync://h/-x/a", "rsync://h/@x/", "rsync://h/m/" + strings.Repeat("a/", rsync.MaxPath/2)} {
		if _, err := client(t, nil).Get(t.Context(), url); fetch.CodeOf(err) != fetch.ErrURL {
			t.Errorf("%.60s: %v", url, err)
		}
	}
}

func TestModulesFollowTheMessageOfTheDay(t *testing.T) {
	t.Parallel()
	s := rsyncd.Start(t, rsyncd.Options{Module: "averylongmodulename", Comment: "the\tfiles", Message: "Welcome\n\nmirror         \tis not a module"})
	entries := drive.MustList(t, client(t, nil), s.URL+"/")
	if len(entries) != 1 || entries[0].Name != "averylongmodulename" || entries[0].Sys.(Sys).Comment != "the\tfiles" ||
		entries[0].URL.String() != s.URL+"/averylongmodulename/" {
		t.Errorf("%+v", entries)
	}
}

// TestSessionsEndInOrder counts the sessions that the server need not log as failed.
func TestSessionsEndInOrder(t *testing.T) {
	t.Parallel()
	for protocol := rsync.MinProtocol; protocol <= rsync.MaxProtocol; protocol++ {
		s := rsyncd.Start(t, rsyncd.Options{Tree: tree(), Protocol: protocol})
		c := client(t, nil)
		drive.Gets(t, c, s.URL+"/files/large", string(large))
		drive.Gets(t, c, s.URL+"/files/empty", "")
		drive.MustList(t, c, s.URL+"/files/")
		if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/files/a.txt")}); err != nil {
			t.Error(err)
		}
		c.Close()
		s.Close()
		if s.Ends() != 4 {
			t.Errorf("%d: %d of 4 sessions", protocol, s.Ends())
		}
	}
}

// TestDamagedFilesAreNotComplete checks that the last bytes of a file are not returned unless its checksum
// and its size are right.
func TestDamagedFilesAreNotComplete(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server rsyncd.Options
		file   string
		code   fetch.Code
		retry  bool
	}{
		"wrong checksum":     {rsyncd.Options{Damage: true}, "large", fetch.ErrChecksum, false},
		"wrong MD4":          {rsyncd.Options{Damage: true, Protocol: 29}, "large", fetch.ErrChecksum, false},
		"an empty file":      {rsyncd.Options{Damage: true}, "empty", fetch.ErrChecksum, false},
		"it shrank":          {rsyncd.Options{Change: func(b []byte) []byte { return b[:len(b)-1] }}, "large", fetch.ErrTruncated, true},
		"it shrank to none":  {rsyncd.Options{Change: func([]byte) []byte { return nil }}, "a.txt", fetch.ErrTruncated, true},
		"it grew":            {rsyncd.Options{Change: func(b []byte) []byte { return append(b[:len(b):len(b)], 'x') }}, "large", fetch.ErrChanged, true},
		"it is not empty":    {rsyncd.Options{Change: func([]byte) []byte { return []byte("x") }}, "empty", fetch.ErrChanged, true},
		"it grew by a token": {rsyncd.Options{Change: func(b []byte) []byte { return append(b[:len(b):len(b)], large...) }}, "large", fetch.ErrChanged, true},
	} {
		tt.server.Tree = tree()
		s := rsyncd.Start(t, tt.server)
		got, err := drive.Get(t, client(t, nil), s.URL+"/files/"+tt.file)
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Retry != tt.retry || len(got) > 0 && len(got) >= len(large) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// TestIncompleteListsAreErrors has servers that cannot read all of a directory.
func TestIncompleteListsAreErrors(t *testing.T) {
	t.Parallel()
	denied := rsyncd.Message{Tag: rsync.ErrorXfer, Payload: `rsync: opendir "x" (in files) failed: Permission denied (13)`}
	for name, tt := range map[string]struct {
		server rsyncd.Options
		code   fetch.Code
	}{
		"at the end":     {rsyncd.Options{Errors: rsync.ErrorGeneral, Messages: []rsyncd.Message{denied}}, fetch.ErrRefused},
		"before 30":      {rsyncd.Options{Protocol: 28, Errors: rsync.ErrorGeneral, Messages: []rsyncd.Message{denied}}, fetch.ErrRefused},
		"by message":     {rsyncd.Options{Messages: []rsyncd.Message{{Tag: rsync.IOError, Payload: "\x01\x00\x00\x00"}}}, fetch.ErrServer},
		"exit":           {rsyncd.Options{Messages: []rsyncd.Message{denied, {Tag: rsync.ErrorExit, Payload: "\x17\x00\x00\x00"}}}, fetch.ErrRefused},
		"silent exit":    {rsyncd.Options{Messages: []rsyncd.Message{{Tag: rsync.ErrorExit}}}, fetch.ErrServer},
		"vanished files": {rsyncd.Options{Errors: rsync.ErrorVanished}, ""},
		"information":    {rsyncd.Options{Messages: []rsyncd.Message{{Tag: rsync.Info, Payload: "x"}, {Tag: rsync.Noop}, {Tag: rsync.IOTimeout, Payload: "\x3c\x00\x00\x00"}}}, ""},
	} {
		tt.server.Tree = tree()
		s := rsyncd.Start(t, tt.server)
		entries, err := drive.List(t, client(t, nil), s.URL+"/files/sub/")
		if fetch.CodeOf(err) != tt.code || err == nil && len(entries) != 2 {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
	}
}

// TestForgedLists has servers whose lists do not belong to the request.
func TestForgedLists(t *testing.T) {
	t.Parallel()
	add := func(name string) func([]rsync.Item) []rsync.Item {
		return func(items []rsync.Item) []rsync.Item {
			return append(items, rsync.Item{Name: name, Mode: rsync.TypeFile | 0o644})
		}
	}
	replace := func(items []rsync.Item) []rsync.Item { return add("b")(nil) }
	for _, tt := range []struct {
		path   string
		change func([]rsync.Item) []rsync.Item
	}{
		{"sub/", add("../b")}, {"sub/", add("/etc/passwd")}, {"sub/", add("")}, {"sub/", add("..")}, {"sub/", add("x\x00y")}, {"sub/", add(".")},
		{"sub/", replace}, {"a.txt", add("b")}, {"a.txt", replace}, {"a.txt", add("")},
	} {
		s := rsyncd.Start(t, rsyncd.Options{Tree: tree(), Listed: tt.change})
		if got, err := drive.Get(t, client(t, nil), s.URL+"/files/"+tt.path); fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%s: %q, %v", tt.path, got, err)
		}
	}
}

// TestConnectionsAreLimited requests more files at once than there may be connections.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	s := rsyncd.Start(t, rsyncd.Options{Tree: tree()})
	var open, most atomic.Int64
	c := client(t, &fetch.Options{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if n := open.Add(1); n > most.Load() {
			most.Store(n)
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &counted{Conn: conn, open: &open}, err
	}})
	var group sync.WaitGroup
	for range 4 * maxConns {
		group.Go(func() { drive.Gets(t, c, s.URL+"/files/large", string(large)) })
	}
	group.Wait()
	if most.Load() > maxConns || open.Load() != 0 {
		t.Errorf("%d connections at once, %d in the end", most.Load(), open.Load())
	}
}

type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
