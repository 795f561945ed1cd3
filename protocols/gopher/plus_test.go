package gopher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/gopher"
)

var modified = time.Date(2026, 11, 21, 0, 48, 19, 0, time.UTC)

func TestAttributesOfAnItem(t *testing.T) {
	t.Parallel()
	body, resp, err := get(t, serve(t, "pygopherd-attributes")+"0/hello.txt%09%09!")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(body, "+INFO: 0hello.txt\t") || !strings.HasSuffix(body, "\r\n An abstract of hello\r\n") || resp.Kind != fetch.KindObject {
		t.Errorf("%v with body %q", resp.Kind, body)
	}
	for key, want := range map[string]string{
		"Abstract": "An abstract of hello",
		"Views":    "text/plain: <0k>",
		"Admin":    "Unconfigured Pygopherd Admin <pygopherd@example.org>",
		"Mod-Date": "Sat Nov 21 00:48:19 2026 <20261121004819>",
	} {
		if got := resp.Header.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if !resp.ModTime.Equal(modified) || resp.Size != int64(len(body)) {
		t.Errorf("changed %v, size %d", resp.ModTime, resp.Size)
	}
}

func TestStatOfPlusItems(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, gopher.Load)
	meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(serve(t, "pygopherd-attributes") + "0/hello.txt%09%09+")})
	if err != nil || meta.ContentType != "text/plain" || !meta.ModTime.Equal(modified) || meta.Header.Get("Abstract") == "" || meta.Size != -1 {
		t.Errorf("%+v, %v", meta, err)
	}
	c = drive.Client(t, nil, gopher.With(gopher.Options{Attributes: true}))
	if meta, err = c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(serve(t, "pygopherd-attributes") + "0/hello.txt")}); err != nil || meta.Header.Get("Abstract") == "" {
		t.Errorf("with Options.Attributes: %+v, %v", meta, err)
	}
	// A server without Gopher+ sends the document, twice.
	const twice = "-- a --\nC\"/x\\t!\\r\\n\"\nS: text\nS!close\n-- b --\nC\"/x\\t+\\r\\n\"\nS: text\nS!close\n"
	if meta, err = drive.Client(t, nil, gopher.Load).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(play(t, twice) + "0/x%09%09+")}); err != nil || meta.ContentType != "text/plain" {
		t.Errorf("without Gopher+: %+v, %v", meta, err)
	}
}

func TestUnchangedPlusItemIsNotRetrieved(t *testing.T) {
	t.Parallel()
	const attributes = "C\"/x\\t!\\r\\n\"\nS: +-1\nS: +INFO: 0x\t/x\th\t70\t+\nS: +ADMIN:\nS:  Mod-Date: x <20261121004819>\nS: .\nS!close\n"
	const document = "C\"/x\\t+\\r\\n\"\nS: +2\nS\"hi\"\nS!close\n"
	for _, tt := range []struct {
		known  time.Time
		script string
		err    error
	}{
		{modified, "-- a --\n" + attributes, fetch.ErrNotModified},
		{modified.Add(time.Hour), "-- a --\n" + attributes, fetch.ErrNotModified},
		{modified.Add(-time.Second), "-- a --\n" + attributes + "-- b --\n" + document, nil},
	} {
		req := &fetch.Request{URL: uri.MustParse(play(t, tt.script) + "0/x%09%09+"), IfChanged: fetch.Validator{ModTime: tt.known}}
		resp, err := drive.Client(t, nil, gopher.Load).Do(t.Context(), req)
		if !errors.Is(err, tt.err) {
			t.Errorf("%v: %v", tt.known, err)
		}
		if err == nil {
			if resp.Body.Close(); !resp.ModTime.Equal(modified) {
				t.Errorf("%v: changed %v", tt.known, resp.ModTime)
			}
		}
	}
}

func TestAttributesOfAMenu(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		opts gopher.Options
		path string
	}{
		{gopher.Options{}, "1/docs%09%09$"},
		{gopher.Options{Attributes: true}, "1/docs"},
	} {
		var got []string
		for _, e := range drive.MustList(t, drive.Client(t, nil, gopher.With(tt.opts)), serve(t, "pygopherd-menu")+tt.path) {
			item := e.Sys.(gopher.Item)
			var names []string
			for _, a := range item.Attributes {
				names = append(names, a.Name)
			}
			got = append(got, strings.Join([]string{e.Name, e.URL.String(), e.ContentType, strings.Join(names, "+")}, " "))
		}
		want := []string{
			"hello.txt gopher://127.0.0.1:28072/0/docs/hello.txt%09%09+ text/html ADMIN+VIEWS",
			"form gopher://127.0.0.1:28072/0/docs/form%09%09%3F text/plain ASK",
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: got\n%s\nwant\n%s", tt.opts, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestAttributesJSON(t *testing.T) {
	t.Parallel()
	for e, err := range drive.Client(t, nil, gopher.Load).List(t.Context(), serve(t, "pygopherd-menu")+"1/docs%09%09$") {
		text, _ := json.Marshal(e.Facts())
		const want = `"attributes":[{"name":"ADMIN","lines":["Mod-Date: Sat Nov 21 00:48:19 2026 \u003c20261121004819\u003e"]},{"name":"VIEWS","lines":["text/html: \u003c0k\u003e"]}]}`
		if err != nil || !strings.HasSuffix(string(text), want) {
			t.Errorf("got %s, %v", text, err)
		}
		break
	}
}

func TestServerWithoutAttributes(t *testing.T) {
	t.Parallel()
	_, _, err := get(t, reply(t, "/x\t!", "just text\r\n")+"0/x%09%09!")
	if !errors.Is(err, fetch.ErrNotRetrievable) {
		t.Errorf("error %v", err)
	}
	// Text without INFO is not an item.
	for e, err := range drive.Client(t, nil, gopher.Load).List(t.Context(), reply(t, "\t$", "+-1\r\n.\r\n")+"1%09%09$") {
		t.Errorf("got %+v, %v", e, err)
	}
	// A reply without a header is a plain menu.
	n := 0
	for e, err := range drive.Client(t, nil, gopher.Load).List(t.Context(), reply(t, "\t$", "0a\t/a\th.example\t70\r\n")+"1%09%09$") {
		if n++; err != nil || e.Name != "a" {
			t.Errorf("got %+v, %v", e, err)
		}
	}
	if n != 1 {
		t.Errorf("%d entries of a plain menu", n)
	}
}

func TestAttributesAreBounded(t *testing.T) {
	t.Parallel()
	block := "+-2\r\n+INFO: 0a\t/a\th.example\t70\t+\r\n+ABSTRACT:\r\n" + strings.Repeat(" "+strings.Repeat("x", 1000)+"\r\n", 300)
	if _, _, err := get(t, reply(t, "/a\t!", block)+"0/a%09%09!"); !errors.Is(err, fetch.ErrProtocol) {
		t.Errorf("of an item: error %v", err)
	}
	var last error
	for _, err := range drive.Client(t, nil, gopher.Load).List(t.Context(), reply(t, "\t$", block)+"1%09%09$") {
		last = err
	}
	if !errors.Is(last, fetch.ErrProtocol) {
		t.Errorf("of a menu: error %v", last)
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	const answer = "+5\r\n<p>Hi"
	for _, tt := range []struct {
		view, path string
	}{
		{"text/html;lang=De_DE", "1/x"},
		{"text/html; lang=De_DE", "0/x%09%09+"},
		{"", "1/x%09%09+text/html%20De_DE"},
		{"image/gif", "1/x%09%09+text/html%20De_DE"}, // the URL has priority
	} {
		body, resp, err := do(t, drive.Client(t, nil, gopher.Load), reply(t, "/x\t+text/html De_DE", answer)+tt.path, fetch.Request{View: tt.view})
		if err != nil || body != "<p>Hi" || resp.Kind != fetch.KindObject || resp.ContentType != "text/html" {
			t.Errorf("%+v %s: %q, %+v, %v", tt.view, tt.path, body, resp, err)
		}
	}
	// The reply of a server without views has the media type of the item type.
	_, resp, err := get(t, reply(t, "/x\t+text/html", "i\t\t\t\r\n")+"1/x%09%09+text/html")
	if err != nil || resp.Kind != fetch.KindListing {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestViewPreference tests the choice of a view from the preferences of a request.
func TestViewPreference(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		accept []string
		langs  string
		want   string
	}{
		{[]string{"text/html"}, "", "+text/html"},
		{[]string{"TEXT/HTML;q=0.5"}, "", "+text/html"},
		{[]string{"application/pdf"}, "", "+"},
		{[]string{"*/*"}, "", "+Text/plain En_US"},
		{[]string{"text/plain"}, "de-DE", "+Text/plain De_DE"},
		{[]string{"text/plain"}, "fr", "+Text/plain En_US"},
		{nil, "de", "+Text/plain De_DE"},
		{nil, "*", "+Text/plain En_US"},
	} {
		attributes := "S: +-1\nS: +VIEWS:\nS:  Text/plain En_US: <.1k>\nS:  Text/plain De_DE: <.1k>\nS:  text/html: <10k>\nS: .\nS!close\n"
		base := play(t, "-- a --\nC\"/x\\t!\\r\\n\"\n"+attributes+"-- b --\nC\"/x\\t"+tt.want+"\\r\\n\"\nS: +0\nS!close\n")
		req := fetch.Request{Accept: tt.accept}
		if tt.langs != "" {
			req.Header = map[string][]string{"Accept-Language": {tt.langs}}
		}
		if _, _, err := do(t, drive.Client(t, nil, gopher.Load), base+"0/x%09%09+", req); err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	// Without a Gopher+ string in the URL no view is requested.
	if _, _, err := do(t, drive.Client(t, nil, gopher.Load), reply(t, "/x", "a")+"0/x", fetch.Request{Accept: []string{"text/html"}}); err != nil {
		t.Error(err)
	}
}

func TestFormFields(t *testing.T) {
	t.Parallel()
	const attributes = "-- attributes --\nC\"/f\\t!\\r\\n\"\nS: +-1\nS: +INFO: 0A form\t/f\th\t70\t?\nS: +ASK:\nS:  Note: Who?\n" +
		"S:  ask: Name\tJoe\nS:  Ask: Name\nS:  AskP: Word\nS:  AskL: Text\nS:  Select: Mail:1\nS:  Select: Fax\t0\nS:  Select: Time: now\n" +
		"S:  Choose: Color\tred\tblue\nS:  ChooseF: In\nS:  AskF: Out\nS:  Odd: What\nS:  no question\nS: .\nS!close\n"
	_, _, err := get(t, play(t, attributes)+"0/f%09%09%3F")
	var fe *fetch.Error
	var form *fetch.FormError
	if !errors.As(err, &fe) || fe.Code != fetch.ErrNeedForm || !errors.As(err, &form) {
		t.Fatalf("error %v", err)
	}
	want := fetch.Form{Title: "A form", Fields: []fetch.Field{
		{Name: "Who?", Kind: fetch.FieldNote},
		{Name: "Name", Kind: fetch.FieldLine, Default: []string{"Joe"}},
		{Name: "Name (2)", Kind: fetch.FieldLine},
		{Name: "Word", Kind: fetch.FieldSecret},
		{Name: "Text", Kind: fetch.FieldLines},
		{Name: "Mail", Kind: fetch.FieldYesNo, Default: []string{"yes"}},
		{Name: "Fax", Kind: fetch.FieldYesNo, Default: []string{"no"}},
		{Name: "Time: now", Kind: fetch.FieldYesNo},
		{Name: "Color", Kind: fetch.FieldChoice, Choices: []string{"red", "blue"}},
		{Name: "In", Kind: fetch.FieldFile},
		{Name: "Out", Kind: fetch.FieldSaveAs},
		{Name: "What", Kind: fetch.FieldLine},
	}}
	if !reflect.DeepEqual(form.Form, want) {
		t.Errorf("got %+v\nwant %+v", form.Form, want)
	}
	if fe.Reason.Kind != fetch.ReasonForm || !strings.Contains(fe.Hint, "in plaintext") {
		t.Errorf("the reason is %+v, the hint %q", fe.Reason, fe.Hint)
	}
}

func TestFormAnswers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var said strings.Builder
	var rec fetchtest.Recording
	c := drive.Client(t, &fetch.Options{Recorder: fetch.JoinRecorders(&rec, fetch.RecordLines(func(_ bool, line string) {
		mu.Lock()
		defer mu.Unlock()
		said.WriteString(line + "\n")
	}))}, gopher.With(gopher.Options{}))
	body, _, err := do(t, c, serve(t, "form")+"00/form%09%09%3F", fetch.Request{Form: map[string][]string{
		"Your name": {"Joe"},
		"Password":  {"secret"},
		"Remarks":   {"line one", "line two"},
		"Color":     {"green"},
	}})
	if err != nil || body != "Thank you, Joe.\r\n" {
		t.Errorf("got %q, %v", body, err)
	}
	if trace := said.String(); rec.Shows("secret") || strings.Contains(trace, "secret") || !strings.Contains(trace, "\nJoe\n***\n2\n") ||
		!strings.Contains(trace, "\n AskP: Password\n") {
		t.Errorf("trace %q", trace)
	}
	body, _, err = do(t, c, serve(t, "file")+"9/send%09%09%3F", fetch.Request{Form: map[string][]string{
		"Title": {"A file"}, "File": {"one\ntwo\n.\n"},
	}})
	if err != nil || body != "ok" {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestWrongAnswersAreNotSent(t *testing.T) {
	t.Parallel()
	const attributes = "-- attributes --\nC\"/f\\t!\\r\\n\"\nS: +-1\nS: +ASK:\nS:  Ask: Name\nS:  Choose: Color\tred\tblue\nS:  Select: Mail:0\nS:  AskL: Text\t\nS: .\nS!close\n"
	good := func() map[string][]string {
		return map[string][]string{"Name": {"Joe"}, "Color": {"red"}, "Text": {"a"}}
	}
	for name, spoil := range map[string]func(map[string][]string){
		"none":        func(m map[string][]string) { clear(m) },
		"missing":     func(m map[string][]string) { delete(m, "Name") },
		"two":         func(m map[string][]string) { m["Name"] = []string{"a", "b"} },
		"line end":    func(m map[string][]string) { m["Name"] = []string{"a\r\nb"} },
		"only a dot":  func(m map[string][]string) { m["Text"] = []string{"a\n.\nb"} },
		"NUL":         func(m map[string][]string) { m["Text"] = []string{"a\x00b"} },
		"twice":       func(m map[string][]string) { m["name:"] = []string{"Jim"} },
		"no choice":   func(m map[string][]string) { m["Color"] = []string{"green"} },
		"neither":     func(m map[string][]string) { m["Mail"] = []string{"maybe"} },
		"no question": func(m map[string][]string) { m["Nmae"] = []string{"Joe"} },
	} {
		answers := good()
		spoil(answers)
		_, _, err := do(t, drive.Client(t, nil, gopher.Load), play(t, attributes)+"0/f%09%09%3F", fetch.Request{Form: answers})
		var form *fetch.FormError
		if !errors.Is(err, fetch.ErrNeedForm) || !errors.As(err, &form) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	_, _, err := do(t, drive.Client(t, nil, gopher.Load), reply(t, "/x\t!", "text\r\n")+"0/x", fetch.Request{Form: good()})
	if !errors.Is(err, fetch.ErrNotRetrievable) {
		t.Errorf("an item without a form: error %v", err)
	}
}

// TestLooseAnswers uses question names without the colon and in lower case, texts of
// several lines and lines that begin with a dot.
func TestLooseAnswers(t *testing.T) {
	t.Parallel()
	const play2 = "-- attributes --\nC\"/f\\t!\\r\\n\"\nS: +-1\nS: +ASK:\nS:  Ask: Your Name:\nS:  AskL: Text\nS:  AskP: Word\nS: .\nS!close\n" +
		"-- form --\nC\"/f\\t+\\t1\\r\\n\"\nC: +-1\nC: Joe\nC: 3\nC: one\nC: ..\nC: three\nC: .bashrc\nC: .\nS: +-1\nS: thanks\nS: .\nS!close\n"
	answers := map[string][]string{"your name": {"Joe"}, "TEXT:": {"one\r\n..\nthree\n"}, "Word": {".bashrc"}}
	body, _, err := do(t, drive.Client(t, nil, gopher.Load), play(t, play2)+"0/f%09%09%3F", fetch.Request{Form: answers})
	if err != nil || !strings.Contains(body, "thanks") {
		t.Errorf("%q, %v", body, err)
	}
	_, _, err = do(t, drive.Client(t, nil, gopher.Load), play(t, play2[:strings.Index(play2, "-- form")])+"0/f%09%09%3F",
		fetch.Request{Form: map[string][]string{"Shoe": {"46"}}})
	if !strings.Contains(fmt.Sprint(err), "there is no question 'Shoe'") {
		t.Errorf("an unknown question: %v", err)
	}
}

func TestMissingView(t *testing.T) {
	t.Parallel()
	const conversation = "-- view --\nC\"/x\\t+image/gif\\r\\n\"\nS: --1\nS: 1 admin\nS: '/views/doc' does not exist!!\nS: .\nS!close\n" +
		"-- attributes --\nC\"/x\\t!\\r\\n\"\nS: +-1\nS: +VIEWS:\nS:  text/plain: <1k>\nS:  text/html De_DE: <2k>\nS: .\nS!close\n"
	_, _, err := do(t, drive.Client(t, nil, gopher.Load), play(t, conversation)+"0/x", fetch.Request{View: "image/gif"})
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrNotFound || e.Hint != "available views: text/plain, text/html De_DE" {
		t.Errorf("%v, %+v", err, e)
	}
}

func TestSearchHintWithQuery(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, gopher.Load)
	for url, want := range map[string]string{
		"gopher://h.example/7/search.sh":        "gopher://h.example/7/search.sh%09words",
		"gopher://h.example/7/search.sh?pear":   "gopher://h.example/7/search.sh%09pear",
		"gopher://h.example/7/search.sh?a+b%26": "gopher://h.example/7/search.sh%09a%20b%26",
	} {
		_, err := c.Explain(&fetch.Request{URL: uri.MustParse(url)})
		var e *fetch.Error
		if !errors.As(err, &e) || !strings.HasSuffix(e.Hint, " "+want) {
			t.Errorf("%s: %v, %+v, want %s", url, err, e, want)
		}
	}
}
