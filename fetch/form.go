package fetch

// A Form is a list of questions that a server asks before it sends the resource.
type Form struct {
	Title  string  `json:"title,omitempty"`
	Fields []Field `json:"fields"`
}

// A Field is one question of a Form.
type Field struct {
	Name    string    `json:"name"`              // the prompt; the key in Request.Form
	Kind    FieldKind `json:"kind"`              //
	Default []string  `json:"default,omitempty"` // the value of an empty answer
	Choices []string  `json:"choices,omitempty"` // for FieldChoice
}

// A FieldKind is the kind of input that a Field expects.
type FieldKind string

// The kinds of fields.
const (
	FieldNote   FieldKind = "note"   // text for the user, no answer
	FieldLine   FieldKind = "line"   // one line
	FieldSecret FieldKind = "secret" // one line, not to be echoed; it may be sent in plaintext
	FieldLines  FieldKind = "lines"  // several lines, one per value
	FieldYesNo  FieldKind = "yesno"  // "yes" or "no"
	FieldChoice FieldKind = "choice" // one of Choices
	FieldFile   FieldKind = "file"   // content of a local file, as one value
	FieldSaveAs FieldKind = "saveas" // name of a local file for the reply
)

// A FormError is the cause of an ErrNeedForm error: the URL names a form that must be filled in
// (see Request.Form).
type FormError struct{ Form Form }

// Error names the fields that expect an answer.
func (e *FormError) Error() string {
	text := "the form asks for"
	sep := " "
	for _, f := range e.Form.Fields {
		if f.Kind != FieldNote {
			text += sep + "'" + Printable(f.Name) + "'"
			sep = ", "
		}
	}
	return text
}
