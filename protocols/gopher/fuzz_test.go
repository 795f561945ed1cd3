package gopher

import (
	"fmt"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func FuzzHeader(f *testing.F) {
	for _, line := range []string{"+16\r\n", "+-1\n", "--2\r\n", "-12\r\n", "+", "++1\r\n", "+-3\r\n", "+99999999999999999999\r\n", "+100000000000000000\r\n", "+100000000000000000\n", "plain\r\n", "\r\n"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		h, ok, _ := parseHeader(line)
		if !ok {
			return
		}
		if h.size < untilClose {
			t.Errorf("%q: size %d", line, h.size)
		}
		if again, ok, _ := parseHeader(h.String() + "\r\n"); !ok || again != h {
			t.Errorf("%q: %v is read as %v, %v", line, h, again, ok)
		}
	})
}

// FuzzAttributes checks the invariants of parsed attribute blocks.
func FuzzAttributes(f *testing.F) {
	for _, text := range []string{
		"+INFO: 0a\t/a\th\t70\t+\r\n+ADMIN:\r\n Admin: A <a@example.org>\r\n Mod-Date: x <20260101000000>\r\n+VIEWS:\r\n text/plain De_DE: <1k>\r\n",
		"+ADMIN\n Mod-Date: <\n+:\n+\n \n+VIEWS:\n\n:\n",
		"+ASK:\n Ask: a\tb\n Select: x:1\n Choose: c\td\te\n AskL:\n AskP: p\n ChooseF: f\n Note: n\n Ask: a\n Ask: a (2)\n Ask: a\n",
		"+ASK:\n Note: a\n Ask: a\n",
		"+ASK\n:",
		"lost\n+INFO:\n+INFO: 1\n+ABSTRACT: 0text\t/x\th\t70\n\xff\xfe\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseAttributes(strings.NewReader(text))
		if err != nil {
			return
		}
		fields(list)
		modTime(list)
		for _, v := range views(list) {
			if strings.ContainsAny(v.String(), "\n\t") && !strings.Contains(text, "\t") {
				t.Errorf("%q: view %q", text, v)
			}
		}
		for e, err := range newMenu(uri.Gopher{Host: "h.example"}).entriesWithAttributes(strings.NewReader(text)) {
			if err == nil && !e.URL.IsZero() && !e.URL.IsAbs() {
				t.Errorf("%q: %q", text, e.URL)
			}
		}
		if form, ok := parseForm(list); ok {
			checkForm(t, form)
		}
	})
}

// checkForm fills in a form, and checks that the block has one line per answer.
func checkForm(t *testing.T, form fetch.Form) {
	t.Helper()
	answers, lines := make(map[string][]string), 0
	for i, field := range form.Fields {
		answer := fmt.Sprint("answer", i)
		switch field.Kind {
		case fetch.FieldNote, fetch.FieldSaveAs:
			continue
		case fetch.FieldFile:
			return // it must be last
		case fetch.FieldYesNo:
			answer = "yes"
		case fetch.FieldChoice:
			if len(field.Choices) == 0 {
				return
			}
			if answer = field.Choices[0]; answer == "." || strings.ContainsAny(answer, "\r\n\x00") {
				return
			}
		case fetch.FieldLines:
			lines++
		}
		if answers[field.Name] != nil {
			t.Errorf("two questions are called %q", field.Name)
		}
		answers[field.Name] = []string{answer}
		lines++
	}
	data, err := fill(form, answers)
	if err != nil {
		t.Fatalf("%+v: %v", form, err)
	}
	if got := strings.Count(data.text, "\r\n"); got != lines+2 {
		t.Errorf("%+v: %d lines in %q", form, got, data.text)
	}
}
