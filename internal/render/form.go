package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// Form writes a form as text: its title, its texts, and the type, choices and default of each field.
// Control characters are escaped.
func Form(w io.Writer, form *fetch.Form) error {
	words := map[fetch.FieldKind]string{
		fetch.FieldLine:   "a line",
		fetch.FieldSecret: "a line that is not echoed",
		fetch.FieldLines:  "lines",
		fetch.FieldYesNo:  "yes or no",
		fetch.FieldChoice: "one of",
		fetch.FieldFile:   "the content of a file",
		fetch.FieldSaveAs: "the name of a file to save to",
	}
	var b strings.Builder
	if form.Title != "" {
		b.WriteString(fetch.Printable(form.Title) + "\n")
	}
	for _, f := range form.Fields {
		if f.Kind == fetch.FieldNote {
			b.WriteString("  " + fetch.Printable(f.Name) + "\n")
			continue
		}
		what, ok := words[f.Kind]
		if !ok {
			what = string(f.Kind)
		}
		if len(f.Choices) > 0 {
			what += " " + quoted(f.Choices)
		}
		if len(f.Default) > 0 && f.Kind != fetch.FieldSecret {
			what += "; default: " + quoted(f.Default)
		}
		fmt.Fprintf(&b, "  '%s': %s\n", fetch.Printable(f.Name), fetch.Printable(what))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func quoted(words []string) string { return "'" + strings.Join(words, "', '") + "'" }
