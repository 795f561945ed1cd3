package render_test

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/render"
)

func TestForm(t *testing.T) {
	t.Parallel()
	form := fetch.Form{Title: "Order\x1b", Fields: []fetch.Field{
		{Name: "Who are you?", Kind: fetch.FieldNote},
		{Name: "Name:", Kind: fetch.FieldLine, Default: []string{"Joe"}},
		{Name: "Password", Kind: fetch.FieldSecret, Default: []string{"hidden"}},
		{Name: "Address", Kind: fetch.FieldLines},
		{Name: "Gift?", Kind: fetch.FieldYesNo, Default: []string{"no"}},
		{Name: "Colour", Kind: fetch.FieldChoice, Choices: []string{"red", "blue\n"}},
		{Name: "Picture", Kind: fetch.FieldFile},
		{Name: "Save as", Kind: fetch.FieldSaveAs},
		{Name: "New", Kind: "new"},
	}}
	want := `Order\x1b
  Who are you?
  'Name:': a line; default: 'Joe'
  'Password': a line that is not echoed
  'Address': lines
  'Gift?': yes or no; default: 'no'
  'Colour': one of 'red', 'blue\n'
  'Picture': the content of a file
  'Save as': the name of a file to save to
  'New': new
`
	var b strings.Builder
	if err := render.Form(&b, &form); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}
