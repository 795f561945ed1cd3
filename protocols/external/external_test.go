package external_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/external"
)

// faultVariable names the fault of the next program.
const faultVariable = "URLGET_TEST_FAULT"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// treeProgram serves the folder that saveReplies writes, with the interface of docs/external-drivers.md.
// It is a shell script, because the suite starts it often, and a shell starts faster than a Go program.
const treeProgram = `cd '%s' && cd "./${2#x-tree:}" || exit 8
case $1-$URLGET_TEST_FAULT in
stat-*) exec cat '#head' ;;
*-cut) exec cat '#head' '#half' ;;
*-stall) cat '#head' '#half'; exec sleep 3600 ;;
*) exec cat '#head' '#body' ;;
esac
`

// saveReplies writes a folder for each file of a tree. Its name is the escaped name of the file, and it
// has the parts of the replies, whose names are not those of escaped files.
func saveReplies(dir string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var head strings.Builder
		var body []byte
		if d.IsDir() {
			entries, err := fs.ReadDir(files, name)
			if err != nil {
				return err
			}
			head.WriteString("Kind: listing\nContent-Type: text/uri-list\n\n")
			for _, e := range entries {
				slash := ""
				if e.IsDir() {
					slash = "/"
				}
				fmt.Fprintf(&head, "# %s\nx-tree:%s%s\n", e.Name(), uri.Escape(path.Join(name, e.Name())), slash)
			}
		} else {
			if body, err = fs.ReadFile(files, name); err != nil {
				return err
			}
			fmt.Fprintf(&head, "Content-Type: application/octet-stream\nSize: %d\n\n", len(body))
		}
		replies := filepath.Join(dir, uri.Escape(name))
		return errors.Join(
			os.MkdirAll(replies, 0o755),
			os.WriteFile(filepath.Join(replies, "#head"), []byte(head.String()), 0o644),
			os.WriteFile(filepath.Join(replies, "#half"), body[:len(body)/2], 0o644),
			os.WriteFile(filepath.Join(replies, "#body"), body, 0o644),
		)
	})
}

func TestConformance(t *testing.T) {
	tree := t.TempDir()
	load := external.With(external.Options{Programs: map[string]string{
		"x-tree": program(t, fmt.Sprintf(treeProgram, tree)),
	}})
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, files fs.FS) fetchtest.Site {
			if err := saveReplies(tree, files); err != nil {
				t.Fatal(err)
			}
			return fetchtest.Site{
				Load:    load,
				URL:     func(name string) string { return "x-tree:" + uri.Escape(name) },
				Escaped: true, // the URL is passed unchanged
				Fault:   func(f fetchtest.Fault) { os.Setenv(faultVariable, f.String()) },
			}
		},
		Options: &fetch.Options{Middleware: []fetch.Middleware{faultOnce}},
		Skip: map[string]string{
			"Noise":      "what a program writes behind its header is content, whatever it is",
			"FileSystem": "the URLs have no paths",
		},
	})
}

// faultOnce removes a fault after a program was started with it.
func faultOnce(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		defer os.Unsetenv(faultVariable)
		return next.Open(ctx, req)
	})
}

// program makes a program from shell commands.
func program(t *testing.T, commands string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+commands), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// script loads a program of shell commands.
func script(t *testing.T, commands string) (load fetch.Loader) {
	t.Helper()
	file := program(t, commands)
	return external.With(external.Options{Programs: map[string]string{"x-foo": file, "foo": file}})
}

func TestHeaders(t *testing.T) {
	tests := []struct {
		name, commands string
		want           string
		err            error
	}{
		{"a document", `printf 'Content-Type: text/plain\n\nhello'`, "hello", nil},
		{"carriage returns", `printf 'Content-Type: text/plain\r\n\r\nhello'`, "hello", nil},
		{"its arguments", `printf '\n%s %s' "$1" "$2"`, "get x-foo:a?b", nil},
		{"no header", `echo hello`, "", fetch.ErrProtocol},
		{"nothing", `:`, "", fetch.ErrProtocol},
		{"a header without end", `while :; do echo 'a: b'; done`, "", fetch.ErrProtocol},
		{"a line without end", `while :; do printf 'aaaaaaaaaaaaaaaa'; done`, "", fetch.ErrProtocol},
		{"a bad size", `printf 'Size: -1\n\n'`, "", fetch.ErrProtocol},
		{"less than it announced", `printf 'Size: 9\n\nhello'`, "hello", fetch.ErrTruncated},
		{"a failure", `echo 'no such thing' >&2; exit 8`, "", fetch.ErrNotFound},
		{"a failure in the midst", `printf '\nhello'; exit 18`, "hello", fetch.ErrTruncated},
		{"another failure", `exit 99`, "", fetch.ErrServer},
		{"itself, again and again", `printf 'Location: x-foo:b\n\n'`, "", fetch.ErrRedirect},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := drive.Client(t, nil, script(t, tt.commands))
			body, err := drive.Get(t, c, "x-foo:a?b")
			if body != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v; want %q, %v", body, err, tt.want, tt.err)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	c := drive.Client(t, nil, script(t, `printf 'first\nlast\033[2J\n' >&2; exit 8`))
	_, err := c.Get(t.Context(), "x-foo:a")
	if !strings.Contains(fmt.Sprint(err), `(last\x1b[2J)`) {
		t.Errorf("error %v", err)
	}
}

func TestSilentProgramIsKilled(t *testing.T) {
	children := filepath.Join(t.TempDir(), "pid")
	load := script(t, "sleep 1000 & echo $! >"+children+"; printf '\\nhello'; wait")
	c := drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Idle: 3 * time.Second}}, load)
	resp, err := c.Get(t.Context(), "x-foo:a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, fetch.ErrNetwork) {
		t.Errorf("error %v", err)
	}
	resp.Body.Close()
	pid, err := os.ReadFile(children)
	if err != nil {
		t.Fatal(err)
	}
	// A killed process has ended or waits to be reaped by its new parent.
	state, err := exec.Command("ps", "-o", "stat=", "-p", strings.TrimSpace(string(pid))).Output()
	if err == nil && !strings.HasPrefix(string(state), "Z") {
		t.Errorf("the program's child is still there: %s", state)
	}
}

func TestSchemes(t *testing.T) {
	c := drive.Client(t, nil, script(t, `printf '\nhello'`))
	for _, url := range []string{"foo:a", "x-unknown:a"} {
		if _, err := c.Get(t.Context(), url); !errors.Is(err, fetch.ErrScheme) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestUntrustedRequests(t *testing.T) {
	remote := fetch.Use("remote", fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Location: []uri.URI{uri.MustParse("x-foo:a")}, Body: fetch.NoBody}, nil
	}))
	c := drive.Client(t, nil, script(t, `printf '\nhello'`), remote)
	if _, err := c.Get(t.Context(), "remote://h/"); !errors.Is(err, fetch.ErrPolicy) {
		t.Errorf("a redirect: error %v", err)
	}
	entry := &fetch.Request{URL: uri.MustParse("x-foo:a"), From: uri.MustParse("remote://h/")}
	if _, err := c.Do(t.Context(), entry); !errors.Is(err, fetch.ErrPolicy) {
		t.Errorf("an entry: error %v", err)
	}
}

func TestPasswordIsNotAnArgument(t *testing.T) {
	var rec fetchtest.Recording
	c := drive.Client(t, &fetch.Options{Recorder: &rec}, script(t, `printf 'X-A: 1\n\n%s %s' "$2" "$URLGET_PASSWORD"`))
	resp, err := c.Get(t.Context(), "x-foo://u:s3cret@h/a")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); string(got) != "x-foo://u@h/a s3cret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if rec.Shows("s3cret") || !rec.Shows("< X-A: 1") {
		t.Errorf("recorded %+v", rec.Exchanges())
	}
}
