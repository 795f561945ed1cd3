//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/jetstream/embedded"
	"github.com/urlget/urlget/queue/queuetest"
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
				case r.URL.IsAbs():
					fmt.Fprintf(w, "the proxy got %s\n", r.URL)
				case r.URL.Path == "/echo":
					text := fmt.Sprintf("%s from %s\n", r.Header["X-Test"], r.UserAgent())
					os.WriteFile(filepath.Join(env.WorkDir, "echo"), []byte(text), 0o666)
				case strings.HasPrefix(r.URL.Path, "/tagged/"):
					body, _ := os.ReadFile(filepath.Join(env.WorkDir, filepath.Base(r.URL.Path)))
					w.Header().Set("ETag", strconv.Quote(strings.TrimSpace(string(body))))
					http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
				case r.URL.Path == "/drip":
					for tick := time.NewTicker(20 * time.Millisecond); r.Context().Err() == nil; <-tick.C {
						io.WriteString(w, "x")
						w.(http.Flusher).Flush()
					}
				case r.URL.Path == "/hang":
					<-r.Context().Done()
				case r.URL.Path == "/robots.txt":
					fmt.Fprint(w, "User-agent: *\nDisallow: /site/secret")
				case r.URL.Path == "/otlp/v1/traces":
					body, _ := io.ReadAll(r.Body)
					os.WriteFile(filepath.Join(env.WorkDir, "spans"), body, 0o666)
				case strings.HasPrefix(r.URL.Path, "/login/"), strings.HasPrefix(r.URL.Path, "/cookie/"):
					serveLocked(w, r)
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
			secure := httptest.NewUnstartedServer(s.Config.Handler)
			secure.Config.ErrorLog = log.New(io.Discard, "", 0)
			secure.StartTLS()
			env.Defer(secure.Close)
			env.Setenv("HTTPS", secure.URL)
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
			return os.WriteFile(filepath.Join(env.WorkDir, "ca.pem"), ca, 0o666)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"until": until, "term": term, "nats": startNATS, "move": moveResults},
	})
}

// serveLocked serves pages that need a login or a cookie, and link to others.
func serveLocked(w http.ResponseWriter, r *http.Request) {
	_, password, _ := r.BasicAuth()
	c, err := r.Cookie("sid")
	switch {
	case strings.HasPrefix(r.URL.Path, "/login/") && password != "hunter2":
		w.Header().Set("WWW-Authenticate", "Basic realm=x")
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasPrefix(r.URL.Path, "/cookie/") && (err != nil || c.Value != "0pensesame"):
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Path == "/login/":
		http.Redirect(w, r, "/login/home", http.StatusFound)
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>", r.URL.Path, "</title><a href=a></a><a href=b></a>")
	}
}

// TestForgedTextDoesNotReachTheTerminal publishes results and dead letters that contain control
// characters, as another client with write access to the streams could.
func TestForgedTextDoesNotReachTheTerminal(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	e, err := jetstream.Open(t.Context(), jetstream.Options{InProcess: server, URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	other, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const forged = "x\u009b2J\u202e\x9by"
	for subject, data := range map[string]string{
		"urlget.results.x":      `{"event":"saved", "url":"` + forged + `"}`,
		"urlget.results.y":      `{}`,
		"urlget.dead." + forged: `{"url":"` + forged + `","error":"` + forged + `"}`,
	} {
		if _, err := other.Request(subject, []byte(data), patience); err != nil {
			t.Fatal(err)
		}
	}
	for name, show := range map[string]func(*app) error{
		"results": func(a *app) error { return a.results(t.Context(), &queue.Results{Engine: e}, 0, false, &selection{}) },
		"dead":    func(a *app) error { return a.dead(t.Context(), e, false, &selection{}) },
		"letters": func(a *app) error { return a.dead(t.Context(), e, true, &selection{}) },
	} {
		var b strings.Builder
		if err := show(&app{out: &b}); err != nil {
			t.Fatal(err)
		}
		if out := b.String(); strings.ContainsAny(out, "\u009b\u202e") || !utf8.ValidString(out) || !strings.Contains(out, `x\u009b2J\u202e`) {
			t.Errorf("%s: %q", name, out)
		}
		if name == "dead" {
			continue
		}
		for line := range strings.Lines(b.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: %q is not JSON", name, line)
			}
		}
	}
}

// patience limits waits that must succeed. They take long only if the machine is busy.
const patience = 5 * time.Minute

// until repeats a command until its output contains a text: until TEXT command...
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until TEXT command...")
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < patience; {
		if err := ts.Exec(args[1], args[2:]...); err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		<-tick.C
	}
	ts.Fatalf("%q did not come", args[0])
}

// moveResults moves the results of a queue, or the results and pages of a crawl, but the last, as if they were
// old: move QUEUE STORE [CRAWL].
func moveResults(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: move QUEUE STORE [CRAWL]")
	}
	flags := queueFlags{crawl: strings.Join(args[2:], ""), embedded: ts.MkAbs(args[0]), name: "urlget", ackWait: time.Minute, mustExist: true}
	e, done, err := flags.open(context.Background(), nil)
	ts.Check(err)
	defer done()
	s, err := queue.OpenDir(ts.MkAbs(args[1]))
	ts.Check(err)
	defer s.Close()
	c := queue.Compaction{Age: queue.MinAge, Least: 1}
	_, err = c.Run(context.Background(), queuetest.Age(e, 2*queue.MinAge), s)
	ts.Check(err)
}

// startNATS starts a NATS server with the rights of the documentation. $NATS is its address.
func startNATS(ts *testscript.TestScript, _ bool, _ []string) {
	conf, err := os.ReadFile("../../jetstream/testdata/rights.conf")
	ts.Check(err)
	name := ts.MkAbs("nats.conf")
	conf = fmt.Appendf(conf, "listen: 127.0.0.1:-1\njetstream { store_dir: %q }\n", ts.MkAbs("nats"))
	ts.Check(os.WriteFile(name, conf, 0o600))
	opts, err := server.ProcessConfigFile(name)
	ts.Check(err)
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	ts.Check(err)
	s.Start()
	ts.Defer(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		ts.Fatalf("the NATS server does not start")
	}
	ts.Setenv("NATS", s.Addr().String())
}

// term sends SIGTERM to background programs.
func term(ts *testscript.TestScript, _ bool, _ []string) {
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}

// TestHelpFitsTheTerminal checks the layout of the help of all commands.
func TestHelpFitsTheTerminal(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.InitDefaultHelpFlag()
		printHelp(cmd, nil)
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%s: a line has %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		if text := out.String(); !strings.Contains(text, "\nUsage:\n  urlget") || !strings.Contains(text, "\nGeneral:\n  -h, --help") {
			t.Errorf("%s: the help is %s", cmd.CommandPath(), text)
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	for _, cmd := range (&app{}).command().Commands() {
		check(cmd)
	}
}
