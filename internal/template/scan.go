package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// text scans the HTML of the template from the current position. It accepts only one way to write a
// tag, and no comments.
func (c *checker) text(s string) error {
	for s != "" {
		var err error
		switch c.state {
		case inText:
			s, err = c.content(s)
		case inTag:
			s, err = c.tag(s)
		case inValue:
			s = c.value(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var onlyText = []string{"title", "textarea", "script", "style"}

// content scans up to the start of the next tag and returns the rest.
func (c *checker) content(s string) (string, error) {
	if c.element != "" { // only its own end tag ends an element of text
		_, rest, ok := strings.Cut(s, "</"+c.element+">")
		if ok {
			c.place = place{}
		}
		return rest, nil
	}
	_, rest, ok := strings.Cut(s, "<")
	if !ok {
		return "", nil
	}
	if strings.HasPrefix(rest, "!--") {
		return "", errors.New("comments are not supported, but those of templates are")
	}
	end := strings.IndexAny(rest, " \t\n/>")
	if strings.HasPrefix(rest, "/") {
		end = strings.IndexByte(rest, '>')
	}
	if end < 0 { // an action follows
		end = len(rest)
		for _, name := range onlyText {
			if strings.HasPrefix(name, strings.ToLower(rest)) {
				return "", fmt.Errorf("the tag %q must not continue after an action", "<"+rest)
			}
		}
	}
	c.place = place{state: inTag, element: strings.ToLower(rest[:end])}
	return rest[end:], nil
}

// tag scans up to the end of the tag or the start of a value and returns the rest.
func (c *checker) tag(s string) (string, error) {
	i := strings.IndexAny(s, `>"'`)
	if i < 0 {
		if strings.HasSuffix(strings.TrimRight(s, " \t\n"), "=") {
			return "", errors.New("values of attributes need double quotes")
		}
		return "", nil
	}
	switch s[i] {
	case '>':
		name := c.element
		if c.place = (place{}); slices.Contains(onlyText, name) {
			c.element = name
		}
	case '"':
		name, ok := strings.CutSuffix(s[:i], "=")
		if !ok {
			return "", fmt.Errorf("an unexpected quotation mark after %q", s[:i])
		}
		c.state, c.attr = inValue, strings.ToLower(name[strings.LastIndexAny(name, " \t\n")+1:])
		if c.attr == "" {
			return "", errors.New("an attribute without a name")
		}
	default:
		return "", errors.New("values of attributes need double quotes")
	}
	return s[i+1:], nil
}

// value scans up to the end of an attribute's value and returns the rest.
func (c *checker) value(s string) string {
	s, rest, ended := strings.Cut(s, `"`)
	if ended {
		c.place = place{state: inTag, element: c.element}
		return rest
	}
	if !slices.Contains(urlAttrs, c.attr) {
		return ""
	}
	if s != "" && c.part == atStart {
		c.part = afterStart
	}
	if strings.ContainsAny(s, "?#") {
		c.part = afterQuery
	}
	return ""
}
