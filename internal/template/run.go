package template

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"text/template/parse"
)

func (s *Set) walk(w io.Writer, node parse.Node, dot reflect.Value) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, node := range n.Nodes {
			if err := s.walk(w, node, dot); err != nil {
				return err
			}
		}
		return nil
	case *parse.TextNode:
		_, err := w.Write(n.Text)
		return err
	case *parse.ActionNode:
		v, err := evaluate(n.Pipe, dot)
		if err != nil {
			return err
		}
		text, err := printed(v)
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		_, err = io.WriteString(w, s.escapes[n].apply(text))
		return err
	case *parse.IfNode:
		v, err := evaluate(n.Pipe, dot)
		if err != nil {
			return err
		}
		if truth(v) {
			return s.walk(w, n.List, dot)
		}
		return s.walk(w, n.ElseList, dot)
	case *parse.WithNode:
		v, err := evaluate(n.Pipe, dot)
		if err != nil {
			return err
		}
		if truth(v) {
			return s.walk(w, n.List, v)
		}
		return s.walk(w, n.ElseList, dot)
	case *parse.RangeNode:
		return s.each(w, n, dot)
	case *parse.TemplateNode:
		var v reflect.Value
		if n.Pipe != nil {
			var err error
			if v, err = evaluate(n.Pipe, dot); err != nil {
				return err
			}
		}
		return s.walk(w, s.trees[n.Name].Root, v)
	}
	return fmt.Errorf("%T", node) // Parse refuses other nodes
}

func (s *Set) each(w io.Writer, n *parse.RangeNode, dot reflect.Value) error {
	v, err := evaluate(n.Pipe, dot)
	if err != nil {
		return err
	}
	v = indirect(v)
	switch {
	case v.IsValid() && v.Kind() != reflect.Slice && v.Kind() != reflect.Array:
		return fmt.Errorf("%s: %s is not a list", n.Pipe, v.Type())
	case !truth(v):
		return s.walk(w, n.ElseList, dot)
	}
	for i := range v.Len() {
		if err := s.walk(w, n.List, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// evaluate returns the value of a pipeline of a single command, as checked by Parse.
func evaluate(p *parse.PipeNode, dot reflect.Value) (reflect.Value, error) {
	args := p.Cmds[0].Args
	name, ok := args[0].(*parse.IdentifierNode)
	if !ok {
		return operand(args[0], dot)
	}
	var values [2]reflect.Value
	for i, arg := range args[1:] {
		var err error
		if values[i], err = operand(arg, dot); err != nil {
			return reflect.Value{}, err
		}
	}
	v, err := call(name.Ident, values[0], values[1])
	if err != nil {
		err = fmt.Errorf("%s: %w", p, err)
	}
	return v, err
}

func call(name string, a, b reflect.Value) (reflect.Value, error) {
	switch name {
	case "not":
		return reflect.ValueOf(!truth(a)), nil
	case "or":
		if truth(a) {
			return a, nil
		}
		return b, nil
	case "eq":
		x, err := printed(a)
		if err != nil {
			return a, err
		}
		y, err := printed(b)
		return reflect.ValueOf(x == y), err
	case "slice":
		text, err := printed(a)
		if err != nil {
			return a, err
		}
		if from := b.Int(); from >= 0 && from <= int64(len(text)) {
			return reflect.ValueOf(text[from:]), nil
		}
		return a, errors.New("out of range")
	}
	return a, errors.New("unknown function") // Parse refuses other functions
}

func operand(node parse.Node, dot reflect.Value) (reflect.Value, error) {
	switch n := node.(type) {
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *parse.NumberNode:
		return reflect.ValueOf(n.Int64), nil
	case *parse.FieldNode:
		for _, name := range n.Ident {
			v := indirect(dot)
			if !v.IsValid() || v.Kind() != reflect.Struct {
				return v, fmt.Errorf("%s: not a structure", n)
			}
			if dot = v.FieldByName(name); !dot.IsValid() {
				return v, fmt.Errorf("%s: %s has no such field", n, v.Type())
			}
		}
	}
	return dot, nil
}

// indirect follows pointers and interfaces. It returns the zero Value for nil.
func indirect(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// truth reports whether a value counts as true: it is neither nil nor zero nor empty.
func truth(v reflect.Value) bool {
	switch v = indirect(v); v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}

func printed(v reflect.Value) (string, error) {
	switch v = indirect(v); v.Kind() {
	case reflect.Invalid:
		return "", nil
	case reflect.String:
		return v.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	}
	return "", fmt.Errorf("%s is neither text nor a number", v.Type())
}
