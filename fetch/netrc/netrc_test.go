package netrc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       file
		err        string
	}{
		{"empty", "", nil, ""},
		{"one line", "machine h login u password p account a",
			file{{Machine: "h", Login: "u", Password: "p", Account: "a"}}, ""},
		{"several lines, CRLF", "machine h\r\n\tlogin u\r\n\tpassword p\r\n\r\nmachine g\r\n",
			file{{Machine: "h", Login: "u", Password: "p"}, {Machine: "g"}}, ""},
		{"default", "machine h login u default login anonymous password me@",
			file{{Machine: "h", Login: "u"}, {Login: "anonymous", Password: "me@"}}, ""},
		{"a byte order mark", "\ufeffmachine h login u", file{{Machine: "h", Login: "u"}}, ""},
		{"quotes", `machine h login "a b" password "q\"\\#"`,
			file{{Machine: "h", Login: "a b", Password: `q"\#`}}, ""},
		{"a quote inside a word", `machine h password a"b"`, file{{Machine: "h", Password: `a"b"`}}, ""},
		{"comments", "# mine\nmachine h # the host\nlogin u # me\npassword #1\n#end",
			file{{Machine: "h", Login: "u", Password: "#1"}}, ""},
		{"a keyword as value", "machine machine login password password login",
			file{{Machine: "machine", Login: "password", Password: "login"}}, ""},
		{"macro", "machine h login u\nmacdef init\ncd /pub\nmachine x\n\nmachine g login v",
			file{{Machine: "h", Login: "u"}, {Machine: "g", Login: "v"}}, ""},
		{"macro up to the end", "machine h\nmacdef m\ncd x", file{{Machine: "h"}}, ""},
		{"words of other programs", "machine h port 21 login u protocol https password p\nmachine g\nuser u\ndefault realm x login d",
			file{{Machine: "h", Login: "u", Password: "p"}, {Machine: "g"}, {Login: "d"}}, ""},
		{"before the first machine", "version 2 login u\nmachine h login v", file{{Machine: "h", Login: "v"}}, ""},
		{"an unknown word with a value in quotes", "machine h comment \"a password b\" login u", file{{Machine: "h", Login: "u"}}, ""},
		{"no name", `machine "" login u`, nil, "line 1: a machine without a name"},
		{"no value", "machine h\nlogin\n", nil, "line 3: a value is missing"},
		{"open quote", "machine h password \"secret\nlogin", nil, "line 1: a quote is not closed"},
		{"open quote at the end", `machine h password "\`, nil, "line 1: a quote is not closed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(strings.NewReader(tt.text))
			if msg := text(err); msg != tt.err {
				t.Errorf("error %q, want %q", msg, tt.err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParseRefusesHugeFiles(t *testing.T) {
	t.Parallel()
	if _, err := parse(strings.NewReader(strings.Repeat("#", 1<<20+1))); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("error %v", err)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	f := file{
		{Machine: "h.example", Login: "a", Password: "1"},
		{Machine: "h.example", Login: "b", Password: "2"},
		{Machine: "open.example", Password: "3"},
		{Login: "anonymous", Password: "4"},
	}
	tests := []struct{ host, user, login, password string }{
		{"h.example", "", "a", "1"},
		{"H.EXAMPLE", "b", "b", "2"},
		{"open.example", "x", "x", "3"},
		{"other.example", "", "anonymous", "4"},
	}
	for _, tt := range tests {
		e, ok := f.lookup(tt.host, tt.user)
		if !ok || e.Login != tt.login || e.Password != tt.password {
			t.Errorf("Lookup(%q, %q) = %+v, %v", tt.host, tt.user, e, ok)
		}
	}
	if e, ok := f.lookup("h.example", "c"); ok {
		t.Errorf("another user got %+v", e)
	}
}

func write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // regardless of the umask
		t.Fatal(err)
	}
	return path
}

func TestSourceIgnoresForeignChallenges(t *testing.T) {
	t.Parallel()
	path := write(t, "machine h.example login u password p account acct\ndefault login d password e", 0o600)
	tests := []struct {
		name     string
		ch       fetch.Challenge
		user     string
		password string
	}{
		{"typed", fetch.Challenge{URL: uri.MustParse("ftp://h.example/x"), Attempt: 1}, "u", "p"},
		{"same origin led there", fetch.Challenge{URL: uri.MustParse("http://h.example/y"), From: uri.MustParse("http://h.example/x"), Attempt: 1}, "u", "p"},
		{"default", fetch.Challenge{URL: uri.MustParse("http://g.example/"), Attempt: 1}, "d", "e"},
		{"another user falls to the default's", fetch.Challenge{URL: uri.MustParse("ftp://h.example/"), User: "d", Attempt: 1}, "d", "e"},
		{"another host led there", fetch.Challenge{URL: uri.MustParse("http://h.example/"), From: uri.MustParse("http://evil.example/"), Foreign: true}, "", ""},
		{"untrusted", fetch.Challenge{URL: uri.MustParse("http://h.example/"), Foreign: true}, "", ""},
		{"untrusted, same origin", fetch.Challenge{URL: uri.MustParse("http://h.example/y"), From: uri.MustParse("http://h.example/x"), Foreign: true}, "", ""},
		{"refused before", fetch.Challenge{URL: uri.MustParse("http://h.example/"), Attempt: 2}, "", ""},
		{"no host", fetch.Challenge{URL: uri.MustParse("news:a@b"), Attempt: 1}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cred, err := New(path).Credential(context.Background(), tt.ch)
			if (tt.user == "") != errors.Is(err, fetch.ErrAuth) {
				t.Fatalf("error %v", err)
			}
			if cred.User != tt.user || cred.Password != tt.password {
				t.Errorf("%+v", cred)
			}
		})
	}
	s := New(path)
	if got := s.Source(tests[0].ch); got != path {
		t.Errorf("Source = %q", got)
	}
	if got := s.Source(tests[4].ch); got != "" {
		t.Errorf("Source for what another host led to = %q", got)
	}
	cred, err := s.Credential(context.Background(), tests[0].ch)
	if err != nil || cred.Account != "acct" {
		t.Errorf("%+v, %v", cred, err)
	}
}

func TestSourceReportsUnusableFile(t *testing.T) {
	t.Parallel()
	ch := fetch.Challenge{URL: uri.MustParse("ftp://h/"), Attempt: 1}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), write(t, "machine h password \"hunter2", 0o600)} {
		s := New(path)
		_, err := s.Credential(context.Background(), ch)
		if fetch.CodeOf(err) != fetch.ErrFile || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
		if got := s.Source(ch); got != "" {
			t.Errorf("Source = %q", got)
		}
	}
}

func TestDefaultSource(t *testing.T) {
	ch := fetch.Challenge{URL: uri.MustParse("ftp://h/"), Attempt: 1}
	tests := []struct {
		name, path string
		code       fetch.Code
	}{
		{"missing", filepath.Join(t.TempDir(), "none"), fetch.ErrAuth},
		{"private", write(t, "machine h login u password p", 0o600), ""},
		{"others can change it", write(t, "machine h login u password p", 0o666), fetch.ErrFile},
		{"others can change it, no secrets", write(t, "machine h login anonymous password me@\nmachine g login u password p", 0o666), ""},
		{"no file but a device", os.DevNull, fetch.ErrAuth},
		{"a directory", t.TempDir(), fetch.ErrAuth},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("NETRC", tt.path)
			s := Default()
			s.Warn = func(warning string) { t.Errorf("warning: %s", warning) }
			_, err := s.Credential(context.Background(), ch)
			if got := fetch.CodeOf(err); got != tt.code {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("others can read it", func(t *testing.T) {
		path := write(t, "machine h login u password hunter2", 0o644)
		t.Setenv("NETRC", path)
		var warnings []string
		s := Default()
		s.Warn = func(warning string) { warnings = append(warnings, warning) }
		for range 2 {
			if cred, err := s.Credential(context.Background(), ch); err != nil || cred.Password != "hunter2" {
				t.Errorf("%v", err)
			}
		}
		want := []string{path + " contains passwords and is readable by other users: chmod 600 " + path}
		if !slices.Equal(warnings, want) {
			t.Errorf("warnings %q, want %q", warnings, want)
		}
	})
	t.Run("home", func(t *testing.T) {
		t.Setenv("NETRC", "")
		t.Setenv("HOME", "/somewhere")
		if got := Default().Path(); got != "/somewhere/.netrc" {
			t.Error(got)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"machine h login u password p", "default", "macdef x\n\n", `machine "a\"`, "# c\nmachine h #"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parse(strings.NewReader(text))
		if err != nil && file != nil {
			t.Error("entries together with an error")
		}
		for _, e := range file {
			if e.Machine != "" && !strings.Contains(text, "machine") {
				t.Errorf("%+v from %q", e, text)
			}
		}
	})
}
