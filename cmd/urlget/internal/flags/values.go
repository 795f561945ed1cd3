package flags

import (
	"encoding/csv"
	"errors"
	"slices"
	"strings"
)

type parsed[T any] struct {
	to    *T
	kind  string
	parse func(text string) (T, error)
	show  func(T) string // nil if the help and the archives do not show the value
}

func (p *parsed[T]) Type() string { return p.kind }

func (p *parsed[T]) String() string {
	if p.show == nil {
		return ""
	}
	return p.show(*p.to)
}

func (p *parsed[T]) Set(text string) error {
	v, err := p.parse(text)
	if err == nil {
		*p.to = v
	}
	return err
}

func parsedBy[T any](to *T, parse func(text string) (T, error)) *parsed[T] {
	return &parsed[T]{to, "text", parse, nil}
}

// A list is a flag that may be repeated. Each value may also be several ones.
type list[S ~[]E, E any] struct{ parsed[S] }

func (l *list[S, E]) Set(text string) error {
	more, err := l.parse(text)
	if err == nil {
		*l.to = append(*l.to, more...)
	}
	return err
}

func listBy[S ~[]E, E any](to *S, parse func(text string) (S, error)) *list[S, E] {
	return &list[S, E]{*parsedBy(to, parse)}
}

// several returns the flag of a list of texts, which may contain commas.
func several(to *[]string) *list[[]string, string] {
	return textsBy(to, func(text string) ([]string, error) { return []string{text}, nil })
}

func textsBy(to *[]string, parse func(text string) ([]string, error)) *list[[]string, string] {
	l := listBy(to, parse)
	l.show = func(texts []string) string { return strings.Join(texts, ",") }
	return l
}

// separated returns the flag of a list of texts with commas between them, in quotation marks if they contain
// one. It is pflag's StringSlice without the buffer of 4 KiB that writes the default of each flag.
func separated(to *[]string) *list[[]string, string] {
	return textsBy(to, func(text string) ([]string, error) {
		if text == "" {
			return nil, nil
		}
		return csv.NewReader(strings.NewReader(text)).Read()
	})
}

func once(to *string) *parsed[string] {
	parse := func(text string) (string, error) {
		if *to != "" {
			return "", errors.New("must not be repeated")
		}
		return text, nil
	}
	return &parsed[string]{to, "string", parse, func(text string) string { return text }}
}

// A choice is a flag that takes one of several words, in the order of the constants of T.
type choice[T ~uint8] struct {
	parsed[T]
	words []string
}

func oneOf[T ~uint8](to *T, words []string) *choice[T] {
	parse := func(text string) (T, error) {
		i := slices.Index(words, text)
		if i < 0 {
			last := len(words) - 1
			return 0, errors.New("must be " + strings.Join(words[:last], ", ") + " or " + words[last])
		}
		return T(i), nil
	}
	return &choice[T]{parsed[T]{to, "mode", parse, func(v T) string { return words[v] }}, words}
}

func (c *choice[T]) options() []string { return c.words }
