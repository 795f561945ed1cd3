package template

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// A checker walks a template once, tracks the position in HTML, and records the escape of each value.
type checker struct {
	set  *Set
	tree *parse.Tree
	place
}

type place struct {
	state   state
	element string // the name of the open tag, or of the element that holds only text
	attr    string // the name of the attribute
	part    part   // of the URL in the attribute
}

type state int

const (
	inText  state = iota // between tags, or in an element that holds only text
	inTag                // within a tag, between attributes
	inValue              // within a value in double quotes
)

type part int

const (
	atStart part = iota
	afterStart
	afterQuery // or fragment
)

// template checks a whole template. It must begin and end between tags, because other templates
// include it there.
func (c *checker) template() error {
	if err := c.node(c.tree.Root); err != nil {
		return err
	}
	if c.place != (place{}) {
		return fmt.Errorf("it ends within a tag or an element of text")
	}
	return nil
}

func (c *checker) node(node parse.Node) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, node := range n.Nodes {
			if err := c.node(node); err != nil {
				return err
			}
		}
		return nil
	case *parse.TextNode:
		return c.text(string(n.Text))
	case *parse.ActionNode:
		if err := check(n.Pipe); err != nil {
			return err
		}
		e, err := c.escape()
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		c.set.escapes[n] = e
		return nil
	case *parse.IfNode:
		return c.branch(&n.BranchNode)
	case *parse.WithNode:
		return c.branch(&n.BranchNode)
	case *parse.RangeNode:
		return c.branch(&n.BranchNode)
	case *parse.TemplateNode:
		if c.place != (place{}) {
			return fmt.Errorf("%s: only between tags", n)
		}
		if c.set.trees[n.Name] == nil {
			return fmt.Errorf("%s: there is none", n)
		}
		if n.Pipe == nil {
			return nil
		}
		return check(n.Pipe)
	}
	return fmt.Errorf("%s: not supported", node)
}

func (c *checker) branch(n *parse.BranchNode) error {
	if err := check(n.Pipe); err != nil {
		return err
	}
	before := c.place
	if err := c.node(n.List); err != nil {
		return err
	}
	after := c.place
	c.place = before
	if err := c.node(n.ElseList); err != nil {
		return err
	}
	if c.place != after || n.NodeType == parse.NodeRange && before != after {
		return fmt.Errorf("%s: the branches end in different places", n.Pipe)
	}
	return nil
}

// check returns an error for pipelines that evaluate does not support.
func check(p *parse.PipeNode) error {
	if len(p.Decl) > 0 || len(p.Cmds) != 1 {
		return fmt.Errorf("%s: variables and pipes are not supported", p)
	}
	args := p.Cmds[0].Args
	if name, ok := args[0].(*parse.IdentifierNode); ok {
		want := 2
		if name.Ident == "not" {
			want = 1
		}
		if args = args[1:]; len(args) != want {
			return fmt.Errorf("%s: %s takes %d arguments", p, name, want)
		}
		if name.Ident == "slice" && args[1].Type() != parse.NodeNumber {
			return fmt.Errorf("%s: not supported", p)
		}
	} else if len(args) > 1 {
		return fmt.Errorf("%s: not supported", p)
	}
	for _, arg := range args {
		switch n := arg.(type) {
		case *parse.DotNode, *parse.FieldNode, *parse.StringNode:
		case *parse.NumberNode:
			if !n.IsInt {
				return fmt.Errorf("%s: only whole numbers", p)
			}
		default:
			return fmt.Errorf("%s: not supported", p)
		}
	}
	return nil
}

// Attributes that may contain values. Browsers run and load nothing for those of shownAttrs, such as
// the path d of SVG, aria-* and data-*.
var (
	urlAttrs   = []string{"href", "src", "action", "formaction", "poster"}
	shownAttrs = []string{"alt", "class", "d", "datetime", "for", "id", "label", "max", "name", "placeholder",
		"title", "value"}
)

func (c *checker) escape() (escape, error) {
	switch {
	case c.state == inText && (c.element == "script" || c.element == "style"):
		return 0, fmt.Errorf("no values in <%s>", c.element)
	case c.state == inText:
		return asText, nil
	case c.state == inTag:
		return 0, fmt.Errorf("values of attributes need double quotes")
	}
	switch {
	case slices.Contains(urlAttrs, c.attr):
		return [...]escape{atStart: asURL, afterStart: asRest, afterQuery: asQuery}[c.part], nil
	case slices.Contains(shownAttrs, c.attr),
		strings.HasPrefix(c.attr, "aria-"),
		strings.HasPrefix(c.attr, "data-"):
		return asText, nil
	}
	return 0, fmt.Errorf("no values in the attribute %s", c.attr)
}
