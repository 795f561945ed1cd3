// Package template executes HTML templates in a subset of the language of html/template, for data of
// structures, strings, numbers and lists.
//
// Package html/template calls methods of its data by name. A program that links it must therefore
// keep every exported method of every type, which is a tenth of the command. This package supports
// no methods, variables or pipes. Parse refuses unsafe or unsupported templates. It chooses the
// escape of each value by its position; the tests compare the result with html/template.
package template

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"text/template/parse"
)

// A Set holds templates that may include each other. It is safe for concurrent use.
type Set struct {
	trees   map[string]*parse.Tree
	escapes map[*parse.ActionNode]escape
}

// Parse returns the templates that texts define. Text outside of definitions is the template "". It
// returns an error for unsupported syntax and for values in positions without an escape.
func Parse(texts ...string) (*Set, error) {
	s := &Set{trees: map[string]*parse.Tree{}, escapes: map[*parse.ActionNode]escape{}}
	for _, text := range texts {
		// The functions are those of text/template. The parser needs only the names.
		trees, err := parse.Parse("", text, "", "", map[string]any{"eq": 2, "not": 1, "or": 2, "slice": 2})
		if err != nil {
			return nil, err
		}
		maps.Copy(s.trees, trees)
	}
	for name, tree := range s.trees {
		c := checker{set: s, tree: tree}
		if err := c.template(); err != nil {
			return nil, fmt.Errorf("template %q: %w", name, err)
		}
	}
	return s, nil
}

// ParseFS is Parse for the files of fsys whose names match the pattern.
func ParseFS(fsys fs.FS, pattern string) (*Set, error) {
	names, err := fs.Glob(fsys, pattern)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return Parse(texts...)
}

// Must returns s, and panics if err is not nil. It is for templates that are part of the program.
func Must(s *Set, err error) *Set {
	if err != nil {
		panic(err)
	}
	return s
}

// Execute applies the template name to data and writes the output to w. Data is a structure, a list,
// a string, a number, or nil if the template needs none. It returns an error if a write fails or a
// field does not exist; part of the output may have been written.
func (s *Set) Execute(w io.Writer, name string, data any) error {
	tree := s.trees[name]
	if tree == nil {
		return fmt.Errorf("unknown template %q", name)
	}
	return s.walk(w, tree.Root, reflect.ValueOf(data))
}
