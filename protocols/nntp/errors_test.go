package nntp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

func TestReplyCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]fetch.Code{
		"400 busy": fetch.ErrBusy, "403 fault": fetch.ErrBusy, "411 none": fetch.ErrNotFound, "412 none": fetch.ErrNotFound,
		"420 none": fetch.ErrNotFound, "423 none": fetch.ErrNotFound, "430 none": fetch.ErrNotFound,
		"480 login": fetch.ErrAuth, "482 order": fetch.ErrAuth, "483 TLS": fetch.ErrTLS, "502 no": fetch.ErrRefused,
		"503 no": fetch.ErrServer, "299 what": fetch.ErrProtocol, "garbage": fetch.ErrProtocol, "499 odd": fetch.ErrServer,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, nil, Load)
			_, err := drive.Get(t, c, "news://"+transcript.Play(t, "-- control --\nS: 200 hi\nC: CAPABILITIES\nS: 500 what\nC: MODE READER\nS: 500 what\nC: ARTICLE <a@b>\nS: "+code+"\n")+"/a@b")
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != want || e.Retry != (want == fetch.ErrBusy || code[:1] == "4" && want == fetch.ErrServer) {
				t.Errorf("got %v", err)
			}
			c.Close()
		})
	}
}

func TestGreetings(t *testing.T) {
	t.Parallel()
	for greeting, want := range map[string]error{
		"201 no posting": nil, "400 too many": fetch.ErrBusy, "502 go away": fetch.ErrRefused, "SSH-2.0-x": fetch.ErrProtocol,
	} {
		s := nntpd.Start(t, nntpd.Options{Groups: groups(1), Replies: map[string]string{"": greeting + "\r\n"}})
		if _, err := drive.Get(t, drive.Client(t, nil, With(Options{Server: s.Addr})), "news:1@x.invalid"); !errors.Is(err, want) {
			t.Errorf("%s: %v", greeting, err)
		}
	}
}

func TestUnsafeNamesAreNotSent(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: groups(1)})
	c := drive.Client(t, nil, With(Options{Server: s.Addr}))
	for _, url := range []string{
		"news:a%0D%0AQUIT@b", "news:a%0AQUIT", "news:a%00@b", "news:a%3Cb@c", "news:a%3E%3Cb@c", "news:a%20b@c", "news:a%20b",
		"news:%3Cgroup", "nntp:a%0Db/1", "nntp:a/1%0D%0A", "news:" + strings.Repeat("a", 250) + "@b", "news:" + strings.Repeat("a", 500),
		"nntp:a%09b/1",
	} {
		drive.Fails(t, c, url, fetch.ErrURL)
	}
	if n := s.Accepted(); n > 0 {
		t.Errorf("%d connections", n)
	}
}

func TestClosedIdleConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: groups(1)})
	c := drive.Client(t, nil, With(Options{Server: s.Addr}))
	for range 3 {
		drive.MustGet(t, c, "news:1@x.invalid")
		s.CloseClientConnections()
	}
}

func TestDefaultServer(t *testing.T) {
	s := nntpd.Start(t, nntpd.Options{Groups: groups(1)})
	file := filepath.Join(t.TempDir(), "server")
	old := serverFile
	serverFile = file
	defer func() { serverFile = old }()
	t.Setenv("NNTPSERVER", "")

	_, err := drive.Get(t, drive.Client(t, nil, Load), "news:1@x.invalid")
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrNoServer || e.Reason.Kind != fetch.ReasonNewsServer || !strings.Contains(e.Hint, "$NNTPSERVER") {
		t.Errorf("with no server: %v", err)
	}

	if err := os.WriteFile(file, []byte("# ours\n\n"+s.Addr+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	drive.MustGet(t, drive.Client(t, nil, Load), "news:1@x.invalid") // from the file
	t.Setenv("NNTPSERVER", "127.0.0.1:1")
	drive.Fails(t, drive.Client(t, nil, Load), "news:1@x.invalid", fetch.ErrNetwork)                            // the variable overrides the file
	drive.MustGet(t, drive.Client(t, nil, With(Options{Server: "nntp://" + s.Addr + "/"})), "news:1@x.invalid") // the setting overrides the variable
	for _, bad := range []string{"http://h/", "a b", "nntp://"} {
		if _, err := drive.Get(t, drive.Client(t, nil, With(Options{Server: bad})), "news:1@x.invalid"); !errors.Is(err, fetch.ErrURL) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
