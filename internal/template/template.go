// Package template fills in HTML templates, in a small part of the language of html/template: enough
// for pages whose data are structures of strings, numbers and lists.
//
// html/template looks up methods of its data by names that only the templates know. A program that
// links it must therefore keep every exported method of every type in it, used or not: of the
// command that is a tenth. Here are no methods, no variables and no pipes, and what could be unsafe
// or is not understood is refused when the templates are parsed. Which escape each value needs
// follows from where it stands, and html/template says the same of each in the tests.
package template

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"text/template/parse"
)

// A Set holds templates that may use each other. It may be used by several goroutines.
type Set struct {
	trees   map[string]*parse.Tree
	escapes map[*parse.ActionNode]escape
}

// Parse returns the templates that texts define. What a text holds beside its definitions is the
// template "". It fails for what it does not understand and for values in places that it knows no
// escape for.
func Parse(texts ...string) (*Set, error) {
	s := &Set{trees: map[string]*parse.Tree{}, escapes: map[*parse.ActionNode]escape{}}
	for _, text := range texts {
		trees, err := parse.Parse("", text, "", "", functions)
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

// Must returns s, and panics if there is an error: for templates that are part of the program.
func Must(s *Set, err error) *Set {
	if err != nil {
		panic(err)
	}
	return s
}

// Execute writes the template called name, filled in with data: a structure, a list, a string, a
// number, or nil if the template needs none. It fails if w does, or if data lack what the template
// names; what was written until then remains.
func (s *Set) Execute(w io.Writer, name string, data any) error {
	tree := s.trees[name]
	if tree == nil {
		return fmt.Errorf("there is no template %q", name)
	}
	return s.walk(w, tree.Root, valueOf(data))
}
