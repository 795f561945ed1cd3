package cso

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/csod"
	"github.com/urlget/urlget/fetchtest/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve plays a transcript and returns the server's URL.
func serve(t testing.TB, name string) string {
	t.Helper()
	conv, err := transcript.Load("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	return "cso://" + transcript.Server(t, conv) + "/"
}

func TestSearch(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, Load)
	var got []string
	for _, e := range drive.MustList(t, c, serve(t, "match")+"name=smith") {
		record, _ := json.Marshal(e.Facts())
		got = append(got, e.Kind.String()+" "+e.Name+" "+string(record))
	}
	want := []string{
		`text name: smith john; office: 12 Main Hall, second floor {"record":1,"fields":[{"name":"name","value":"smith john"},{"name":"office","value":"12 Main Hall\nsecond floor"}]}`,
		`text name: smith zoë; email: Not present in entry. {"record":2,"fields":[{"name":"name","value":"smith zoë"},{"name":"email","value":"Not present in entry.","error":true}]}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestBodyIsVerbatim(t *testing.T) {
	t.Parallel()
	body, resp, err := drive.Do(t, drive.Client(t, nil, Load), &fetch.Request{URL: uri.MustParse(serve(t, "match") + "name=smith")})
	if err != nil {
		t.Fatal(err)
	}
	if text := body; !strings.HasPrefix(text, "102:There were 2 matches to your request.\r\n-200:1:") || !strings.HasSuffix(text, "\r\n200:Ok.\r\n") {
		t.Errorf("body %q", text)
	}
	if want := (fetch.Reply{Code: 102, Text: "There were 2 matches to your request."}); resp.Reply != want || resp.Kind != fetch.KindListing || resp.Framing != fetch.FramedByProtocol {
		t.Errorf("got %+v, %v, %v", resp.Reply, resp.Kind, resp.Framing)
	}
}

func TestErrorReplies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]fetch.Code{
		"nomatch":    fetch.ErrNotFound,
		"toomany":    fetch.ErrRefused,
		"busy":       fetch.ErrBusy,
		"unknown":    fetch.ErrRefused,
		"stranger":   fetch.ErrProtocol,
		"cut":        fetch.ErrTruncated,
		"late":       fetch.ErrRefused,
		"silent":     fetch.ErrNetwork,
		"endless":    fetch.ErrProtocol,
		"chattering": fetch.ErrProtocol,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log []string
			base := serve(t, name)
			c := drive.Client(t, &fetch.Options{Recorder: fetch.RecordLines(func(sent bool, line string) { log = append(log, line) })}, Load)
			_, err := drive.Get(t, c, base+"smith")
			if !errors.Is(err, want) {
				t.Errorf("error %v, want one of class %q", err, want)
			}
			if len(log) < 2 || log[0] != "query smith" || log[1] != "quit" {
				t.Errorf("trace %q", log)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url, query string
		code       fetch.Code
	}{
		{"cso://h.example/smith", "query smith", ""},
		{"cso://h.example/joe%20smith", "query joe smith", ""},
		{"cso://h.example/?joe+smith", "query joe smith", ""},
		{"cso://h.example?joe+smith", "query joe smith", ""},
		{"cso://h.example/who?", "query who?", ""},
		{"cso://h.example/name=smith%20return%20all", "query name=smith return all", ""},
		{"cso://h.example/", "", fetch.ErrNeedSearch},
		{"cso://h.example", "", fetch.ErrNeedSearch},
		{"cso://h.example/%20", "", fetch.ErrNeedSearch},
		{"cso://h.example/a%0D%0Aquit", "", fetch.ErrURL},
		{"cso://h.example/?a%0Ab", "", fetch.ErrURL},
		{"cso://u:p@h.example/a", "", fetch.ErrURL},
		{"cso:smith", "", fetch.ErrURL},
	}
	c := drive.Client(t, nil, Load)
	for _, tt := range tests {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(tt.url)})
		if code := fetch.CodeOf(err); code != tt.code {
			t.Errorf("%s: error %v, want class %q", tt.url, err, tt.code)
		} else if err == nil && x.Steps[0] != tt.query {
			t.Errorf("%s: steps %q, want %q", tt.url, x.Steps, tt.query)
		}
	}
}

func TestManyRecords(t *testing.T) {
	t.Parallel()
	s := csod.Start(t, csod.Options{Replies: map[string]string{"all": records(10000)}})
	c := drive.Client(t, nil, Load)
	count := func() (n int, last error) {
		for _, err := range c.List(t.Context(), "cso://"+s.Addr+"/all") {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	if n, err := count(); n != 10000 || err != nil {
		t.Errorf("%d entries and error %v", n, err)
	}
	s.Fail(servers.Cut)
	if n, err := count(); !errors.Is(err, fetch.ErrTruncated) {
		t.Errorf("after a cut: %d entries and error %v", n, err)
	}
	meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("cso://" + s.Addr + "/all")})
	if err != nil || meta.Kind != fetch.KindListing || meta.Reply.Code != 200 {
		t.Errorf("Stat: %+v, %v", meta, err)
	}
	s.Fail(servers.Stall)
	c = drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Idle: 150 * time.Millisecond}}, Load)
	if n, err := count(); !errors.Is(err, fetch.ErrNetwork) {
		t.Errorf("after a stall: %d entries and error %v", n, err)
	}
}

// records returns n records with one field each.
func records(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "-200:%d:    name: x\r\n", i+1)
	}
	return b.String()
}

func TestRefusedQuery(t *testing.T) {
	t.Parallel()
	resp, err := drive.Client(t, nil, Load).Get(t.Context(), serve(t, "nofield")+"nofield=x")
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrRefused || e.Reply.String() != `507 nofield:Field does not exist.; x:not a field` {
		t.Errorf("%v, %v", resp, err)
	}
}

// FuzzReplies checks that entries of arbitrary replies are valid.
func FuzzReplies(f *testing.F) {
	for _, text := range []string{
		"102:There was 1 match to your request.\r\n-200:1:    name: a b\r\n-200:1:        : c\r\n200:Ok.\r\n",
		"501:No matches.\n", "-508:2:email:\xff\n200:Ok\n", "-200:-1:x:y\n200:\n", ":::\n", "-\n", "99999:\n", "100:\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for e, err := range entries(strings.NewReader(text)) {
			if err != nil {
				return
			}
			record := e.Sys.(Record)
			if record.Record < 0 || len(record.Fields) == 0 || !e.URL.IsZero() {
				t.Errorf("%q: entry %+v", text, e)
			}
			if _, err := json.Marshal(e.Facts()); err != nil {
				t.Error(err)
			}
		}
	})
}
