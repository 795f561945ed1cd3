package gopher

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// questions maps the type of a line of the attribute ASK with the kind of the field. The type is the
// text before the first colon, in lower case.
func questions() map[string]fetch.FieldKind {
	return map[string]fetch.FieldKind{
		"note":    fetch.FieldNote,
		"ask":     fetch.FieldLine,
		"askp":    fetch.FieldSecret,
		"askl":    fetch.FieldLines,
		"askf":    fetch.FieldSaveAs,
		"select":  fetch.FieldYesNo,
		"choose":  fetch.FieldChoice,
		"choosef": fetch.FieldFile,
	}
}

// parseForm returns the form in the attributes of an item. It returns false if there is none.
func parseForm(list []Attribute) (fetch.Form, bool) {
	ask, ok := attribute(list, "ASK")
	if !ok {
		return fetch.Form{}, false
	}
	var form fetch.Form
	if info, ok := attribute(list, "INFO"); ok {
		form.Title, _ = parseItem(info.Value)
	}
	used := make(map[string]int)
	for _, line := range ask.Lines {
		f, ok := parseField(line)
		if !ok {
			continue
		}
		if f.Kind != fetch.FieldNote {
			f.Name = unique(f.Name, used)
		}
		form.Fields = append(form.Fields, f)
	}
	return form, true
}

// unique returns name, with a number if it is taken, and marks it as taken. Names are the keys of
// answers. The map taken has the last number used for each name.
func unique(name string, used map[string]int) string {
	free := name
	for used[free] > 0 {
		used[name]++
		free = fmt.Sprintf("%s (%d)", name, used[name])
	}
	used[free] = 1
	return free
}

// parseField parses a line "Type: prompt", with a tab before each further argument. It returns false
// for a line without a question. A question of an unknown type becomes a FieldLine.
func parseField(line string) (fetch.Field, bool) {
	typ, text, ok := strings.Cut(line, ":")
	if !ok {
		return fetch.Field{}, false
	}
	kind, ok := questions()[strings.ToLower(strings.TrimSpace(typ))]
	if !ok {
		kind = fetch.FieldLine
	}
	parts := strings.Split(strings.TrimSpace(text), "\t")
	f := fetch.Field{Name: strings.TrimSpace(parts[0]), Kind: kind}
	switch kind {
	case fetch.FieldYesNo:
		f.Name, f.Default = yesNo(f.Name, parts[1:])
	case fetch.FieldChoice:
		f.Choices = parts[1:]
	case fetch.FieldLine, fetch.FieldSecret, fetch.FieldLines:
		f.Default = parts[1:]
	}
	if len(f.Default) == 0 {
		f.Default = nil
	}
	f.Name = cmp.Or(f.Name, strings.TrimSpace(typ))
	return f, f.Name != "" // answers are identified by name
}

// yesNo finds the default of a yes-or-no question, "1" or "0". It follows a tab or the last colon
// of the prompt.
func yesNo(prompt string, rest []string) (string, []string) {
	answer := ""
	if len(rest) > 0 {
		answer = rest[0]
	} else if i := strings.LastIndexByte(prompt, ':'); i >= 0 {
		answer = prompt[i+1:]
		if answer == "0" || answer == "1" {
			prompt = strings.TrimSpace(prompt[:i])
		}
	}
	switch answer {
	case "1":
		return prompt, []string{"yes"}
	case "0":
		return prompt, []string{"no"}
	}
	return prompt, nil
}

// formError returns the error for a form without answers or, if why is not nil, with invalid answers.
func formError(form fetch.Form, why error) error {
	e := &fetch.Error{Code: fetch.ErrNeedForm, Err: &fetch.FormError{Form: form},
		Reason: fetch.Reason{Kind: fetch.ReasonForm}, Hint: "answer it"}
	if why != nil {
		e.Err = fmt.Errorf("%w; %w", why, e.Err)
	}
	if slices.ContainsFunc(form.Fields, func(f fetch.Field) bool { return f.Kind == fetch.FieldSecret }) {
		e.Hint += "; hidden answers are sent in plaintext unless the scheme is gophers"
	}
	return e
}

// fill returns the data block for a form with its answers. It has the format of a reply: a header,
// then one answer per line in the order of the questions. A file takes the rest of the block. The
// block then has a size and no final dot. Other blocks end at a line with only a dot. Servers do
// not unescape lines that begin with a dot, so these are sent unchanged.
func fill(form fetch.Form, answers map[string][]string) (block, error) {
	answers, err := matchAnswers(form, answers)
	if err != nil {
		return block{}, err
	}
	var text, shown strings.Builder
	file, hasFile, dot := "", false, false
	for _, f := range form.Fields {
		if f.Kind == fetch.FieldNote {
			continue // its text may equal the name of a question
		}
		values, answered := answers[f.Name]
		delete(answers, f.Name)
		if f.Kind == fetch.FieldSaveAs {
			continue
		}
		if !answered {
			values, answered = f.Default, f.Default != nil
		}
		if hasFile {
			return block{}, fmt.Errorf("'%s' follows a file, which must be last", f.Name)
		}
		if f.Kind == fetch.FieldFile && len(values) == 1 {
			file, hasFile = values[0], true
			continue
		}
		if !answered {
			return block{}, fmt.Errorf("'%s' has no answer", f.Name)
		}
		lines, err := answer(f, values)
		if err != nil {
			return block{}, fmt.Errorf("'%s' %w", f.Name, err)
		}
		for _, line := range lines {
			dot = dot || line == "."
			text.WriteString(line + "\r\n")
			if f.Kind == fetch.FieldSecret {
				line = "***"
			}
			shown.WriteString(line + "\r\n")
		}
	}
	if hasFile {
		head := "+" + strconv.Itoa(text.Len()+len(file)) + "\r\n"
		return block{head + text.String() + file, head + shown.String() + "(a file)\r\n"}, nil
	}
	if dot {
		return block{}, errors.New("an answer has a line with only a dot, which would end the form")
	}
	return block{"+-1\r\n" + text.String() + ".\r\n", "+-1\r\n" + shown.String() + ".\r\n"}, nil
}

// matchAnswers returns the answers keyed by the exact names of the questions. Users may omit the final
// colon and use different case.
func matchAnswers(form fetch.Form, answers map[string][]string) (map[string][]string, error) {
	simple := func(name string) string {
		return strings.ToLower(strings.TrimRight(strings.TrimSpace(name), ": "))
	}
	found := make(map[string][]string)
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		question := ""
		for _, f := range form.Fields {
			switch {
			case f.Kind == fetch.FieldNote: // its text may equal the name of a question
			case f.Name == name:
				question = f.Name
			case question == "" && simple(f.Name) == simple(name):
				question = f.Name
			}
		}
		if question == "" {
			return nil, fmt.Errorf("there is no question '%s'", name)
		}
		if _, twice := found[question]; twice {
			return nil, fmt.Errorf("'%s' is answered twice", question)
		}
		found[question] = answers[name]
	}
	return found, nil
}

// splitLines splits also at line breaks, because a value may be the contents of a file.
func splitLines(values []string) []string {
	var lines []string
	for _, v := range values {
		for line := range strings.SplitSeq(strings.TrimSuffix(v, "\n"), "\n") {
			lines = append(lines, strings.TrimSuffix(line, "\r"))
		}
	}
	return lines
}

func answer(f fetch.Field, values []string) ([]string, error) {
	if f.Kind == fetch.FieldLines {
		values = splitLines(values)
	}
	for _, v := range values {
		if err := wire.CheckLine(v); err != nil {
			return nil, errors.New("has an answer of more than one line")
		}
	}
	if f.Kind == fetch.FieldLines {
		return append([]string{strconv.Itoa(len(values))}, values...), nil
	}
	if len(values) != 1 {
		return nil, errors.New("requires one answer")
	}
	switch v := values[0]; f.Kind {
	case fetch.FieldYesNo:
		digit, ok := map[string]string{"yes": "1", "1": "1", "no": "0", "0": "0"}[strings.ToLower(v)]
		if !ok {
			return nil, errors.New("must be yes or no")
		}
		return []string{digit}, nil
	case fetch.FieldChoice:
		if !slices.Contains(f.Choices, v) {
			return nil, fmt.Errorf("must be one of %q", f.Choices)
		}
	}
	return values, nil
}
