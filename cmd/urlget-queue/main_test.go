//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"urlget-queue": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=1")
			env.Setenv("no_proxy", "*")
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/robots.txt":
					fmt.Fprint(w, "User-agent: *\nDisallow: /site/secret")
				case r.URL.Path == "/otlp/v1/traces":
					body, _ := io.ReadAll(r.Body)
					os.WriteFile(filepath.Join(env.WorkDir, "spans"), body, 0o666)
				case r.URL.Path == "/site/moved":
					http.Redirect(w, r, "/site/b", http.StatusFound)
				case strings.HasPrefix(r.URL.Path, "/site/"):
					w.Header().Set("Content-Type", "text/html")
					fmt.Fprint(w, "<title>", r.URL.Path, "</title><a href=/site/a></a><a href=/site/moved></a><a href=/site/secret></a><a href=/site/b></a>")
				case strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/gone"):
					http.NotFound(w, r)
				default:
					w.Write([]byte("this is " + r.URL.Path + "\n"))
				}
			}))
			env.Defer(s.Close)
			env.Setenv("HTTP", s.URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"until": until, "term": term},
	})
}

// until runs a command until its output has a text: until TEXT command...
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until TEXT command...")
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 600 {
		if err := ts.Exec(args[1], args[2:]...); err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		<-tick.C
	}
	ts.Fatalf("%q did not come", args[0])
}

// term asks the programs in the background to end.
func term(ts *testscript.TestScript, _ bool, _ []string) {
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}
