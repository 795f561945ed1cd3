package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/servers/popd"
	"github.com/urlget/urlget/fetchtest/servers/rsyncd"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/fetchtest/servers/spartand"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
)

// quickExit disables the race detector's delay of one second at exit.
const quickExit = "atexit_sleep_ms=1"

// TestMain runs the tests, or, under other names, a command or a worker.
func TestMain(m *testing.M) {
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	case "urlget":
		os.Exit(runProcess())
	case countedName:
		os.Exit(runCounted())
	case workerName:
		work()
	default:
		os.Exit(runTests(m))
	}
}

// runProcess runs the command with the arguments and streams of the process.
func runProcess() int {
	return runChecked(func(std stdio) int { return interruptible(os.Args[1:], std, loadChat) })
}

// runTests runs the tests with the command in PATH.
func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "urlget-test")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	program := filepath.Join(dir, "urlget")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.Symlink(self, program); err != nil {
		panic(err)
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	// In the background or under nohup, signals are ignored, and children inherit that: "urlget serve"
	// would not end. Signals that are caught here have their default effect in children.
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	defer stopWorkers()
	return m.Run()
}

// unlessLong returns few, or many if URLGET_LONG is set.
func unlessLong(few, many int) int {
	if fetchtest.IsLong() {
		return many
	}
	return few
}

func urlget(args ...string) *exec.Cmd { return exec.Command("urlget", args...) }

func TestScripts(t *testing.T) {
	t.Parallel()
	schema, err := filepath.Abs("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	contracts, err := filepath.Abs("testdata/contracts")
	if err != nil {
		t.Fatal(err)
	}
	assigned := scriptVariables(t)
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		WorkdirRoot:        t.TempDir(), // removed at the end, as some file systems are slow after removals
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TZ", "UTC")
			env.Setenv("GORACE", quickExit)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv(schemaVariable, schema)
			env.Setenv("CONTRACTS", contracts)
			env.Setenv("no_proxy", "")
			variables := scriptEnvironment{assigned: assigned}
			for _, pair := range env.Vars {
				name, _, _ := strings.Cut(pair, "=")
				variables.initial = append(variables.initial, name)
			}
			env.Values[variablesKey{}] = variables
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"urlget": runScriptLine,
			"serve":  func(ts *testscript.TestScript, neg bool, args []string) { serve(t, ts, neg, args) },
			"status": status,
			"lines":  lines,
			"chmod":  chmod,
			"unset":  unset,
			"touch":  touch,

			"waitfor": waitfor,
			"address": address,
			"link":    link,
			"until":   until,
		},
	})
}

// A scriptEnvironment has the names of variables: a script only returns the values of given names.
type scriptEnvironment struct {
	initial  []string // set before the script
	assigned []string // by any script; passed on unless empty
}

// variablesKey is the key of a script's scriptEnvironment.
type variablesKey struct{}

// assignment is a variable in a script.
var assignment = regexp.MustCompile(`(?m)^(?:\[.*\] *)?env (.*)$`)

// scriptVariables returns the names of the variables that scripts set.
func scriptVariables(t *testing.T) (names []string) {
	t.Helper()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range assignment.FindAllSubmatch(text, -1) {
			for _, pair := range strings.Fields(string(match[1])) {
				name, _, _ := strings.Cut(pair, "=")
				names = append(names, name)
			}
		}
		if bytes.Contains(text, []byte("\nstdin ")) {
			t.Errorf("%s: a worker cannot read the file of \"stdin\"; append \"< FILE\" to the command", script)
		}
	}
	return names
}

// runScriptLine runs the command in a worker, as "exec urlget" would: urlget [arguments] [< FILE] [> FILE].
func runScriptLine(ts *testscript.TestScript, neg bool, args []string) {
	if status := inWorker(ts, args); (status != exitOK) != neg {
		ts.Fatalf("exit status %d", status)
	}
}

// inWorker runs the command in a worker with the directory and environment of the script, and returns
// its exit status.
func inWorker(ts *testscript.TestScript, args []string) int {
	l := commandLine{Dir: ts.MkAbs(".")}
redirections:
	for len(args) >= 2 {
		switch file := args[len(args)-1]; args[len(args)-2] {
		case "<":
			l.Input = []byte(ts.ReadFile(file))
		case ">":
			l.Out = ts.MkAbs(file)
		default:
			break redirections
		}
		args = args[:len(args)-2]
	}
	l.Args = args
	variables := ts.Value(variablesKey{}).(scriptEnvironment)
	for _, name := range variables.initial {
		l.Env = append(l.Env, name+"="+ts.Getenv(name))
	}
	for _, name := range variables.assigned {
		if value := ts.Getenv(name); value != "" {
			l.Env = append(l.Env, name+"="+value)
		}
	}
	res, err := runInWorker(l)
	io.WriteString(ts.Stdout(), res.Stdout)
	io.WriteString(ts.Stderr(), res.Stderr)
	ts.Check(err)
	return res.Status
}

// status runs a command and checks its exit status: status N command...
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [arguments]")
	}
	got := 0
	if args[1] == "urlget" {
		got = inWorker(ts, args[2:])
	} else if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Check(err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// lines checks the number of lines in a file, "stdout" or "stderr": lines N name.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines N name")
	}
	if got := strings.Count(ts.ReadFile(args[1]), "\n"); strconv.Itoa(got) != args[0] {
		ts.Fatalf("%d lines, want %s", got, args[0])
	}
}

// chmod sets a file's mode: chmod MODE name.
func chmod(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: chmod mode name")
	}
	mode, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	ts.Check(os.Chmod(ts.MkAbs(args[1]), os.FileMode(mode)))
}

// touch sets the modification time of a file to a year before modified: touch name.
func touch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: touch name")
	}
	old := modified.AddDate(-1, 0, 0)
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), old, old))
}

// waitfor waits until a file exists and is not empty: waitfor name.
func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor name")
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < waitLimit; {
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() > 0 {
			return
		}
		<-tick.C
	}
	ts.Fatalf("%s did not come", args[0])
}

// address waits for the file in which a server prints its address, and sets the variable of that name
// to the address and name_base to the part before the query: address name.
func address(ts *testscript.TestScript, neg bool, args []string) {
	waitfor(ts, neg, args)
	printed := strings.TrimSpace(ts.ReadFile(args[0]))
	base, _, _ := strings.Cut(printed, "?")
	ts.Setenv(args[0], printed)
	ts.Setenv(args[0]+"_base", base)
}

// link sets the variable link to the first match of a pattern in a page, without the first slash and
// without character references: link pattern file.
func link(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: link pattern file")
	}
	found := regexp.MustCompile(args[0]).FindString(ts.ReadFile(args[1]))
	if found == "" {
		ts.Fatalf("%s has no %s", args[1], args[0])
	}
	ts.Setenv("link", strings.TrimPrefix(strings.ReplaceAll(found, "&amp;", "&"), "/"))
}

// until repeats the command until a file that it writes has a text: until text file urlget [arguments].
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[2] != "urlget" {
		ts.Fatalf("usage: until text file urlget [arguments]")
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < waitLimit; {
		if status := inWorker(ts, args[3:]); status != exitOK {
			ts.Fatalf("exit status %d", status)
		}
		if strings.Contains(ts.ReadFile(args[1]), args[0]) {
			return
		}
		<-tick.C
	}
	ts.Fatalf("%s did not get %q", args[1], args[0])
}

// unset sets environment variables to the empty string.
func unset(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		ts.Setenv(name, "")
	}
}

// serve starts servers and sets variables to their addresses: http sets $HTTP, $HOSTPORT and $PORT,
// tls sets $HTTPS, tls with HTTP/2 $H2, proxy $PROXY, raw $RAW, quoter $QUOTER, gopher $GOPHER, news
// (which requires a login) $NEWS, usenet $USENET, and ssh $SSH. For ssh, the file known_hosts has
// the host key and the file key the user's private key.
func serve(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve http|tls|proxy|ftp|raw...")
	}
	for _, kind := range args {
		switch kind {
		case "http":
			s := newSite()
			ts.Defer(s.Close)
			ts.Setenv("HTTP", s.URL)
			ts.Setenv("SOCKET", "ws"+strings.TrimPrefix(s.URL, "http")+"/socket")
			ts.Setenv("HOSTPORT", strings.TrimPrefix(s.URL, "http://"))
			ts.Setenv("PORT", s.URL[strings.LastIndex(s.URL, ":")+1:])
		case "contract":
			s := newContractSite(ts.MkAbs("requests"))
			ts.Defer(s.Close)
			ts.Setenv("CONTRACT", s.URL)
		case "tls":
			s := newTLSSite(false)
			ts.Defer(s.Close)
			ts.Setenv("HTTPS", s.URL)
			ts.Setenv("TLSSOCKET", "ws"+strings.TrimPrefix(s.URL, "http")+"/socket")
			for name, pem := range certificates(s) {
				ts.Check(os.WriteFile(filepath.Join(ts.MkAbs("."), name), pem, 0o600))
			}
		case "h2":
			s := newTLSSite(true)
			ts.Defer(s.Close)
			ts.Setenv("H2", s.URL)
		case "h3":
			s := newTLSSite(true)
			ts.Defer(s.Close)
			ts.Setenv("H3", s.URL)
			ts.Check(addHTTP3(ts, s))
		case "proxy":
			s := newProxy()
			ts.Defer(s.Close)
			ts.Setenv("PROXY", strings.TrimPrefix(s.URL, "http://"))
		case "tlsproxy":
			s := httptest.NewTLSServer(newProxy().Config.Handler)
			ts.Defer(s.Close)
			ts.Setenv("TLSPROXY", s.URL)
		case "ftpsite":
			s, err := ftpd.New(ftpd.Options{Users: map[string]string{"anonymous": "urlget@", "me": "secret"}, Tree: fstest.MapFS{
				"pub/hello.txt": {Data: []byte("one\r\ntwo\r\n"), ModTime: modified},
				"pub/bye.txt":   {Data: []byte("bye\r\n"), ModTime: modified},
			}})
			ts.Check(err)
			ts.Defer(s.Close)
			ts.Setenv("FTPSITE", s.Addr)
		case "ssh":
			known, key, addr := newSSH(t)
			ts.Setenv("SSH", addr)
			ts.Check(os.WriteFile(ts.MkAbs("known_hosts"), known, 0o600))
			ts.Check(os.WriteFile(ts.MkAbs("key"), key, 0o600))
		case "raw":
			s, err := newRaw()
			ts.Check(err)
			ts.Defer(s.Close)
			ts.Setenv("RAW", s.Addr)
		case "quoter":
			s, err := newQuoter()
			ts.Check(err)
			ts.Defer(s.Close)
			ts.Setenv("QUOTER", s.Addr)
		case "news":
			article := nntpd.Article{ID: "<1@news.example>", Text: "Subject: one\nMessage-ID: <1@news.example>\n\nnews\n"}
			ts.Setenv("NEWS", nntpd.Start(t, nntpd.Options{User: "joe", Password: "secret",
				Groups: []nntpd.Group{{Name: "a.group", Articles: []nntpd.Article{article}}}}).Addr)
		case "usenet":
			site := newTLSSite(false)
			ts.Defer(site.Close)
			ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), certificates(site)["ca.pem"], 0o600))
			ts.Setenv("USENET", nntpd.Start(t, nntpd.Options{TLS: &tls.Config{Certificates: site.TLS.Certificates},
				Groups: []nntpd.Group{{Name: "a.group", Articles: articles()}}}).Addr)
		case "imap":
			ts.Setenv("IMAP", imapd.Start(t, imapd.Options{User: "joe", Password: "secret", Mailboxes: map[string][]imapd.Message{
				"INBOX": {{Text: []byte("Subject: one\r\n\r\nHello.\r\n")}, {Text: []byte("Subject: two\r\n\r\nHello again.\r\n")}},
			}}).Addr)
		case "nfs":
			ts.Setenv("NFS", nfsd.Start(t, nfsd.Options{Exports: []string{"/pub"}, Users: []uint32{1000, 65534}, Tree: fstest.MapFS{
				"pub/hello.txt": {Data: []byte("hello\n"), ModTime: modified}, "pub/notes/a b": {Data: []byte("note\n"), ModTime: modified},
			}}).Addr)
		case "nfsprivate":
			ts.Setenv("NFSPRIVATE", nfsd.Start(t, nfsd.Options{Users: []uint32{1000}, Tree: fstest.MapFS{"hello.txt": {Data: []byte("hello\n")}}}).Addr)
		case "s3":
			s := newStore()
			ts.Defer(s.Close)
			ts.Setenv("AWS_ENDPOINT_URL", s.URL)
			ts.Setenv("S3", s.Listener.Addr().String())
		case "pop":
			ts.Setenv("POP", popd.Start(t, popd.Options{User: "joe", Password: "secret", Messages: []popd.Message{
				{UID: "first", Text: "Subject: one\n\nHello.\n"}, {UID: "second", Text: "Subject: two\n\nHello again.\n"},
			}}).Addr)
		case "gemini":
			s := geminid.Start(t, geminid.Options{Replies: map[string]string{
				"/":       "20 text/gemini\r\n# Start\n=> /search Search\n=> gopher://gopher.example/ Gopherspace\n",
				"/search": "10 What for?", "/search?two%20words": "20 text/plain\r\nfound\n",
				"/secret": "11 Word?", "/secret?sesame": "20 text/plain\r\nopen\n",
				"/card": "60 Show your card",
			}})
			ts.Setenv("GEMINI", s.Addr)
			ts.Check(os.WriteFile(ts.MkAbs("others"), []byte(s.Addr+" sha256 "+strings.Repeat("0a", 32)+" 2126-01-01T00:00:00Z\n"), 0o600))
		case "smb":
			ts.Setenv("SMB", smbd.Start(t, smbd.Options{Users: map[string]string{"joe": "secret"}, Shares: map[string]string{"public": "for all"}, Tree: fstest.MapFS{
				"pub/hello.txt": {Data: []byte("hello, world\n"), ModTime: modified}, "pub/notes/a %;#b": {Data: []byte("note\n"), ModTime: modified},
			}}).Addr)
		case "rsync":
			ts.Setenv("RSYNC", rsyncd.Start(t, rsyncd.Options{Module: "pub", Comment: "public files", Users: map[string]string{"joe": "secret"}, Tree: fstest.MapFS{
				"hello.txt": {Data: []byte("hello\n"), ModTime: modified}, "notes/a b": {Data: []byte("note\n"), ModTime: modified},
			}}).Addr)
		case "z3950":
			ts.Setenv("Z3950", z3950d.Start(t, z3950d.Options{Explain: true, Tree: fstest.MapFS{
				"fruit/pear.txt": {Data: []byte("a pear\n")}, "fruit/both.txt": {Data: []byte("a pear and an apple\n")},
			}}).Addr)
		case "spartan":
			ts.Setenv("SPARTAN", spartand.Start(t, spartand.Options{Replies: map[string]string{
				"/":            "2 text/gemini\r\n# Start\n=: /book Write into the book\n=> notes/ Notes\n=> gopher://gopher.example/ Gopherspace\n",
				"/book?a word": "3 /thanks", "/thanks": "2 text/plain\r\nthanks\n",
				"/busy": "5 Too much to do", "/closed": "4 Not for you",
			}}).Addr)
		case "nex":
			ts.Setenv("NEX", nexd.Start(t, nexd.Options{Tree: fstest.MapFS{
				"hello.txt": {Data: []byte("hello\n")}, "notes/a b.txt": {Data: []byte("note\n")}, "notes/more/x": {Data: []byte("x\n")},
			}}).Addr)
		case "gopher":
			ts.Setenv("GOPHER", gopherd.Start(t, gopherd.Options{Plus: true, Text: true,
				Tree: fstest.MapFS{"docs/hello.txt": {Data: []byte("hello\r\n")}, "docs/order": {Data: []byte("ordered\r\n")}},
				Attributes: map[string]string{"/docs/hello.txt": "+VIEWS:\r\n text/html De_DE: <1k>\r\n",
					"/docs/order": "+INFO: 0Order\t/docs/order\th\t70\t?\r\n+ASK:\r\n Note: Fill this in.\r\n Ask: Name:\tJoe\r\n Choose: Colour\tred\tblue\r\n"},
				Replies: map[string]string{"/docs/hello.txt\t+text/html De_DE": "+-2\r\n<p>hallo"},
			}).Addr)
		case "wais":
			ts.Setenv("WAIS", waisd.Start(t, waisd.Options{Tree: fstest.MapFS{
				"fruit/pear.txt": {Data: []byte("a pear\n")}, "fruit/both.txt": {Data: []byte("a pear and an apple\n")},
			}}).Addr)
		default:
			ts.Fatalf("serve: no server %q", kind)
		}
	}
}
