package mcptools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/urlget/urlget/fetch"
)

const greeting = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

func runLines(t *testing.T, input string) (lines []string, err error) {
	t.Helper()
	c := fetch.New(nil)
	defer c.Close()
	var out strings.Builder
	err = Run(t.Context(), Options{Client: c, Version: "1"}, strings.NewReader(input), &out)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), err
}

// A line that is not a message gets an error, and the later ones their responses.
func TestBadMessagesDoNotEndTheSession(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	for _, tt := range []struct {
		line string
		code int
	}{
		{"no JSON", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, -32700},
		{ping + ping, -32700},
		{"\xff\xfe", -32700},
		{strings.Repeat("[", 100_000), -32700},
		{`[` + ping + `]`, -32600},
		{`[]`, -32600},
		{`"text"`, -32600},
		{`{}`, -32600},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":3}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":"` + strings.Repeat("x", maxMessage) + `"}`, -32600},
	} {
		got, err := runLines(t, greeting+tt.line+"\n"+ping+"\n")
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,`, tt.code)
		refused, answered := 0, 0
		for _, line := range got {
			if strings.HasPrefix(line, want) {
				refused++
			}
			if strings.Contains(line, `"id":7`) && strings.Contains(line, `"result"`) {
				answered++
			}
		}
		if refused != 1 || answered != 1 || err == nil {
			t.Errorf("%.60s: %.300q, %v", tt.line, got, err)
		}
	}
}

// The session ends at the end of the input, whatever the requests were.
func TestAllRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1e0,"method":"ping"}`:                                                `"id":1e0,"result"`,
		`{"jsonrpc":"2.0","id":"\u0061","method":"ping"}`:                                           `"id":"\u0061","result"`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                               "",
		`{"jsonrpc":"2.0","id":4,"method":"none/such"}`:                                             `"id":4,"error":{"code":-32601`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"no"}}`:                     `"id":5,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"stat","arguments":[]}}`:    `"id":6,`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call"}`:                                            `"id":8,"error"`,
		" \t" + `{"jsonrpc":"2.0","id":9,"method":"ping"}` + " \r":                                  `"id":9,"result"`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`:                                                     "",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`:            "",
		"\n\n" + `{"jsonrpc":"2.0","id":10,"method":"ping","params":{"_meta":{"progressToken":1}}}`: `"id":10,"result"`,
	} {
		got, err := runLines(t, greeting+request+"\n")
		if text := strings.Join(got, "\n"); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %q, %v", request, got, err)
		}
	}
}

func TestProtocolVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "1999-01-01", "", "x"} {
		got, err := runLines(t, strings.Replace(greeting, "2025-06-18", version, 1))
		var hello struct {
			Result struct{ ProtocolVersion string }
		}
		if json.Unmarshal([]byte(got[0]), &hello) != nil || err != nil || hello.Result.ProtocolVersion < "2024" {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
}

// A cancelled call ends its request and is answered, and so does the end of the time for a call.
func TestCallsEnd(t *testing.T) {
	t.Parallel()
	started, ended := make(chan bool, 1), make(chan bool, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "x")
		w.(http.Flusher).Flush()
		started <- true
		<-r.Context().Done()
		ended <- true
	}))
	t.Cleanup(slow.Close)
	c := newClient(t, local)
	in, client := io.Pipe()
	replies, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Run(t.Context(), Options{Client: c, Version: "1"}, in, out) }()
	fmt.Fprint(client, greeting)
	reply := bufio.NewScanner(replies)
	reply.Scan()
	fmt.Fprintf(client, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"fetch","arguments":{"url":%q}}}`+"\n", slow.URL)
	<-started
	fmt.Fprintln(client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	<-ended
	if reply.Scan(); !strings.Contains(reply.Text(), `"id":5`) {
		t.Errorf("the reply is %s", reply.Text())
	}
	client.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCallsEndInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wait := fetch.DriverFunc(func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		c := fetch.New(&fetch.Options{Policy: &fetch.Policy{Untrusted: true}}, fetch.Use("x-slow", wait))
		defer c.Close()
		tools := &tools{Options: Options{Client: c}, slots: newSlots()}
		ctx, cancel := tools.limit(t.Context())
		defer cancel()
		if _, err := tools.document(ctx, fetchInput{URL: "x-slow://h/"}); fetch.CodeOf(err) != fetch.ErrNetwork ||
			!strings.Contains(err.Error(), "not finished within 1m0s (--max-time)") {
			t.Error(err)
		}
	})
}

// Slow servers do not stop the calls for others, and the wait for them ends.
func TestSlowServersDoNotStopOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots()
		var free []func()
		for _, host := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			for range maxPerHost {
				f, err := s.take(t.Context(), host)
				if err != nil {
					t.Fatal(err)
				}
				free = append(free, f)
			}
		}
		limited, cancel := (&tools{}).limit(t.Context())
		defer cancel()
		if _, err := s.take(limited, "a"); fetch.CodeOf(err) != fetch.ErrNetwork {
			t.Errorf("a call too many for a host: %v", err)
		}
		f, err := s.take(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(free, f) {
			f()
		}
		if len(s.hosts) != 0 || len(s.all) != 0 {
			t.Errorf("%d hosts and %d calls remain", len(s.hosts), len(s.all))
		}
	})
}

func TestMistakesInArgumentsAreForTheModel(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"url":5}`:                      `the argument url is not of the type string`,
		`{"url":null}`:                   `the argument url is not of the type string`,
		`{}`:                             `the argument url is missing`,
		`{"URL":"x:"}`:                   `there is no argument \\\"URL\\\"`,
		`{"url":"x:","offset":1.5}`:      `the argument offset is not of the type integer`,
		`{"url":"x:","source":"true"}`:   `the argument source is not of the type boolean`,
		`[]`:                             `the arguments are not an object`,
		`{"url":"x:","\u202e":"\u0007"}`: `there is no argument`,
	} {
		got, err := runLines(t, greeting+
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"fetch","arguments":`+arguments+"}}\n")
		last := got[len(got)-1]
		if err != nil || !strings.Contains(last, `"id":5,"result":`) || !strings.Contains(last, `"isError":true`) ||
			!strings.Contains(last, want) || strings.ContainsRune(last, '\u202e') {
			t.Errorf("%s: %s, %v; want %s", arguments, last, err, want)
		}
	}
}

// A call has the ID of its request, also if it is written in another way than in other messages.
func TestIDsOfRunningCallsAreUnique(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b string }{{`"a"`, `"\u0061"`}, {`5`, ` 5 `}, {`9007199254740993`, `9007199254740993`}} {
		if a, b := idOf(json.RawMessage(tt.a)), idOf(json.RawMessage(strings.TrimSpace(tt.b))); a != b || a == "" {
			t.Errorf("%s is %q, %s is %q", tt.a, a, tt.b, b)
		}
	}
	for _, tt := range []struct{ a, b string }{{`"5"`, `5`}, {`9007199254740993`, `9007199254740992`}} {
		if idOf(json.RawMessage(tt.a)) == idOf(json.RawMessage(tt.b)) {
			t.Errorf("%s is %s", tt.a, tt.b)
		}
	}
	wait := fetch.DriverFunc(func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	c := fetch.New(&fetch.Options{Policy: &fetch.Policy{Untrusted: true}}, fetch.Use("x-slow", wait))
	defer c.Close()
	const call = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"fetch","arguments":{"url":"x-slow://h/"}}}` + "\n"
	var out strings.Builder
	err := Run(t.Context(), Options{Client: c}, strings.NewReader(call+call+
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`), &out)
	if got := out.String(); err != nil || strings.Count(got, `"id":5,"error":{"code":-32600`) != 1 ||
		strings.Count(got, `"id":5,"result"`) != 1 {
		t.Errorf("%s, %v", got, err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestBrokenOutputEndsTheSession(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil)
	defer c.Close()
	in, client := io.Pipe()
	defer client.Close()
	go fmt.Fprint(client, greeting)
	if err := Run(t.Context(), Options{Client: c}, in, brokenPipe{}); !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
}

// Each message gets at most one response, which is a line of JSON with its ID.
func FuzzMessages(f *testing.F) {
	for _, line := range []string{`{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"id":"x","jsonrpc":"2.0","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stat","arguments":{"url":"x:y"}}}`, "no JSON", `[]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			t.Skip()
		}
		c := fetch.New(nil)
		defer c.Close()
		var out strings.Builder
		err := Run(t.Context(), Options{Client: c}, strings.NewReader(line+"\n"), &out)
		got := out.String()
		if strings.Count(got, "\n") > 1 || got != "" && !json.Valid([]byte(got)) {
			t.Errorf("%q gets %q", line, got)
		}
		if err != nil != strings.Contains(got, `"id":null,"error"`) {
			t.Errorf("%q gets %q, and the error %v", line, got, err)
		}
	})
}
