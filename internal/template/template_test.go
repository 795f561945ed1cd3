package template

import (
	"bytes"
	"fmt"
	htmltemplate "html/template"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template/parse"
)

// hostile are values that would be more than text if they could.
var hostile = []string{
	"", "plain", `"><script>alert(1)</script>`, "' onclick='x", "a&b&amp;c", "a+b", "\x00", "javascript:alert(1)", "JavaScript:x",
	"data:text/html,x", "http://h/a b?c=d&e=%zz#f", "HTTPS://h/", "mailto:a@b", "/a:b", "//h/x", "x:y/z", "?a=b", "#f", "%41%4", "%",
	"é\xff☃", "</title>", "</textarea><b>", "\r\n", "\\", "a=b`c", "[::1]", "~-._!$*(),;@{}|^",
}

// samples stand each value in a kind of place.
var samples = []string{
	`<p>{{.}}</p>`, `<title>{{.}}</title>`, `<textarea rows=3>{{.}}</textarea>`, `<p title="{{.}}">`, `<p class="a b{{.}}c">`,
	`<input value="{{.}}" disabled>`, `<a href="{{.}}">x</a>`, `<a href="/at/{{.}}">x</a>`, `<a href="/at?x={{.}}&amp;y={{.}}">x</a>`,
	`<use href="#i-{{.}}"/>`, `<img src="{{.}}" alt="{{.}}">`, `<form action="{{.}}{{.}}">`, `<a href="{{.}}?{{.}}">`,
	`{{if .}}<b aria-label="{{.}}">{{else}}<i>{{end}}`, `<option{{if eq . "plain"}} selected{{end}}>{{.}}</option>`,
	`{{with .}}{{.}}{{else}}none{{end}}`, `<p data-key="{{.}}">`, `{{not .}}{{or . "none"}}`, `<video poster="{{.}}">`,
	`{{define "one"}}<b>{{.}}</b>{{end}}{{template "one" .}}{{template "one"}}`, `<script src="/x"></script><style>p{}</style>{{.}}`,
	`<p x=y title="{{.}}">{{if .}}<br/>{{end}}`, `{{- . -}}  x`, `<P TITLE="{{.}}" >`,
}

func FuzzSameAsHTMLTemplate(f *testing.F) {
	type pair struct {
		ours   *Set
		theirs *htmltemplate.Template
	}
	var pairs []pair
	for _, text := range samples {
		text = strings.ReplaceAll(text, "{{not .}}", "{{if not .}}not{{end}}")
		ours, err := Parse(text)
		if err != nil {
			f.Fatalf("%s: %v", text, err)
		}
		pairs = append(pairs, pair{ours, htmltemplate.Must(htmltemplate.New("").Parse(text))})
	}
	for _, value := range hostile {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for i, p := range pairs {
			var got, want bytes.Buffer
			if err := p.ours.Execute(&got, "", value); err != nil {
				t.Fatal(err)
			}
			if err := p.theirs.Execute(&want, value); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Errorf("%s of %q:\n got %s\nwant %s", samples[i], value, &got, &want)
			}
		}
	})
}

// escapers holds the names of the escapers of html/template.
var escapers = map[escape]string{
	asText:  "_html_template_htmlescaper",
	asURL:   "_html_template_urlfilter | _html_template_urlnormalizer | _html_template_attrescaper",
	asRest:  "_html_template_urlnormalizer | _html_template_attrescaper",
	asQuery: "_html_template_urlescaper | _html_template_attrescaper",
}

// The escapes of the pages of urlget serve are those of html/template.
func TestPagesEscapeAsInHTMLTemplate(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("../../serve/pages/*.html")
	var texts []string
	theirs := htmltemplate.New("")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		htmltemplate.Must(theirs.Parse(string(text)))
	}
	ours, err := Parse(texts...)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for name, tree := range ours.trees {
		theirs.ExecuteTemplate(io.Discard, name, nil) // which rewrites the template, whatever becomes of the data
		var want []string
		actions(theirs.Lookup(name).Tree.Root, func(n *parse.ActionNode) {
			_, added, _ := strings.Cut(strings.Trim(n.String(), "{}"), " | ")
			added = strings.Replace(added, "_html_template_rcdataescaper", escapers[asText], 1)
			if added == "_html_template_attrescaper" {
				added = escapers[asText]
			}
			want = append(want, added)
		})
		i := 0
		actions(tree.Root, func(n *parse.ActionNode) {
			if i >= len(want) || escapers[ours.escapes[n]] != want[i] {
				t.Errorf("%s: %s is escaped as %s, html/template says %v", name, n, escapers[ours.escapes[n]], want)
			}
			i++
		})
		compared += i
	}
	if compared < 100 {
		t.Errorf("only %d values in %d files", compared, len(files))
	}
}

func actions(node parse.Node, do func(*parse.ActionNode)) {
	var branch *parse.BranchNode
	switch n := node.(type) {
	case *parse.ActionNode:
		do(n)
	case *parse.ListNode:
		if n != nil {
			for _, node := range n.Nodes {
				actions(node, do)
			}
		}
	case *parse.IfNode:
		branch = &n.BranchNode
	case *parse.WithNode:
		branch = &n.BranchNode
	case *parse.RangeNode:
		branch = &n.BranchNode
	}
	if branch != nil {
		actions(branch.List, do)
		actions(branch.ElseList, do)
	}
}

func TestUnsafeIsRefused(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{
		"no values in the attribute":        {`<p onclick="{{.}}">`, `<p style="{{.}}">`, `<img srcset="{{.}}">`, `<meta content="{{.}}">`, `<iframe srcdoc="{{.}}">`},
		"no values in <":                    {`<script>{{.}}</script>`, `<style>{{.}}</style>`},
		"need double quotes":                {`<p title={{.}}>`, `<p title='{{.}}'>`, `<p {{.}}>`, `<p {{.}}="x">`, `<p{{.}}>`},
		"must not continue after an action": {`<{{.}}>`, `<t{{if .}}itle{{end}}>`},
		"comments are not supported":        {`<!-- {{.}} -->`},
		"it ends within a tag":              {`<p title="{{.}}`, `<title>{{.}}`},
		"end in different places": {`{{if .}}<p {{end}}>`, `{{range .}}<p title="{{end}}`, `<p title="{{if .}}a"{{else}}b{{end}}>`,
			`<a href="{{if .}}x{{end}}">`},
		"only between tags":                  {`<p title="{{template "x"}}">{{define "x"}}{{end}}`},
		"an unexpected quotation mark":       {`<a title= "{{.}}">`},
		"an attribute without a name":        {`<a ="{{.}}">`},
		`function "printf" not defined`:      {`{{. | printf}}`, `{{printf "%s" .}}`},
		"variables and pipes":                {`{{$x := .}}{{$x}}`, `{{range $i, $e := .}}{{end}}`},
		`{{template "none"}}: there is none`: {`{{template "none"}}`},
		": not supported":                    {`{{.Method 1}}`, `{{slice . .}}`, `{{eq . nil}}`, `{{if (eq . 1)}}{{end}}`, `{{range .}}{{break}}{{end}}`},
		"eq takes 2 arguments":               {`{{eq .}}`},
		"not takes 1 arguments":              {`{{not . .}}`},
		"only whole numbers":                 {`{{eq . 1.5}}`},
		"unclosed action":                    {`{{`},
	} {
		for _, text := range texts {
			if _, err := Parse(text); !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: error %v, want %q", text, err, want)
			}
		}
	}
}

func TestDataOfEachKind(t *testing.T) {
	t.Parallel()
	type kind string
	type entry struct {
		Name string
		Kind kind
		Next *entry
		Size int64
		Any  any
		List []entry
		Is   bool
	}
	data := &entry{Name: "a<b", Kind: "file", Size: -3, Any: []string{"x", "y"}, Is: true,
		Next: &entry{Name: "next"}, List: []entry{{Name: "1"}, {Name: "2", Is: true}}}
	for _, tt := range []struct{ text, want string }{
		{`{{.Name}} {{.Next.Name}} {{.Size}}`, "a&lt;b next -3"},
		{`{{if eq .Kind "file"}}file{{end}}{{if eq .Size -3}} of -3{{end}}{{if eq .Kind "x"}}x{{else if .Is}} is{{end}}`, "file of -3 is"},
		{`{{range .List}}{{if .Is}}*{{end}}{{.Name}} {{else}}none{{end}}`, "1 *2 "},
		{`{{with .Next}}{{.Name}}{{range .List}}x{{else}} alone{{end}}{{end}}{{with .Next.Next}}x{{else}} end{{end}}`, "next alone end"},
		{`{{range .Any}}{{.}}{{end}}{{range .Next.Any}}x{{end}}{{.Next.Any}}`, "xy"},
		{`{{slice .Name 2}}{{slice .Name 3}}{{or .Next.Kind .Kind}}`, "bfile"},
	} {
		s, err := Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		var b strings.Builder
		if err := s.Execute(&b, "", data); err != nil || b.String() != tt.want {
			t.Errorf("%s = %q, %v, want %q", tt.text, &b, err, tt.want)
		}
	}
	for want, texts := range map[string][]string{
		".None: template.entry has no such field": {`{{.None}}`, `{{with .None}}{{end}}`, `{{if .None}}{{end}}`,
			`{{template "x" .None}}{{define "x"}}{{end}}`, `{{range .None}}{{end}}`, `{{eq .None 1}}`},
		"not a structure":           {`{{.Name.None}}`, `{{.Next.Next.Name}}`},
		"string is not a list":      {`{{range .Name}}{{end}}`},
		"neither text nor a number": {`{{.List}}`, `{{.Is}}`, `{{slice .List 1}}`, `{{eq .List 1}}`, `{{eq 1 .List}}`},
		"out of range":              {`{{slice .Name 9}}`},
	} {
		for _, text := range texts {
			s, err := Parse(text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if err := s.Execute(io.Discard, "", data); !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: error %v, want %q", text, err, want)
			}
		}
	}
}

func TestExecuteErrors(t *testing.T) {
	t.Parallel()
	s := Must(ParseFS(os.DirFS("../../serve"), "pages/*.html"))
	if err := s.Execute(io.Discard, "none", nil); !strings.Contains(fmt.Sprint(err), `unknown template "none"`) {
		t.Errorf("a template that there is not: %v", err)
	}
	r, w := io.Pipe()
	r.CloseWithError(io.ErrClosedPipe)
	if err := s.Execute(w, "menuend", nil); err != io.ErrClosedPipe {
		t.Errorf("error %v", err)
	}
}
