package transcript

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

// variable matches a variable. Its groups are the name of the variable and of its script, or the
// name only.
var variable = regexp.MustCompile(`\$(?:(PORT|EPSV|PASV)\{([^{}]*)\}|(HOST|PORT))`)

// Parse parses a transcript. Name is used in messages.
func Parse(name string, data []byte) (*Conversation, error) {
	archive := txtar.Parse(data)
	conv := &Conversation{name: name}
	line := strings.Count(string(archive.Comment), "\n")
	for _, file := range archive.Files {
		line++ // the line with its name
		if conv.script(file.Name) != nil {
			return nil, fmt.Errorf("%s:%d: a second script %q", name, line, file.Name)
		}
		s := &script{name: file.Name}
		for text := range strings.Lines(string(file.Data)) {
			line++
			text = strings.TrimRight(text, "\r\n")
			if text == "" || text[0] == '#' {
				continue
			}
			st, err := parseStep(text)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, line, err)
			}
			if len(s.steps) > 0 && s.steps[len(s.steps)-1].last() {
				return nil, fmt.Errorf("%s:%d: nothing can follow %v", name, line, s.steps[len(s.steps)-1])
			}
			st.line = line
			s.steps = append(s.steps, st)
		}
		conv.scripts = append(conv.scripts, s)
	}
	return conv, conv.link()
}

// link sets the scripts that have a port of their own, and rejects unknown names.
func (c *Conversation) link() error {
	for _, s := range c.scripts {
		for _, st := range s.steps {
			names := []string{}
			if st.action == wait {
				names = append(names, st.wait)
			}
			if st.vars {
				for _, m := range variable.FindAllSubmatch(st.data, -1) {
					if len(m[1]) == 0 {
						continue
					}
					names = append(names, string(m[2]))
					if other := c.script(string(m[2])); other != nil {
						other.ownPort = true
					}
				}
			}
			for _, name := range names {
				if other := c.script(name); other == nil || other == s {
					return fmt.Errorf("%s:%d: there is no other script %q", c.name, st.line, name)
				}
			}
		}
	}
	if len(c.main()) == 0 {
		return fmt.Errorf("%s: no script begins the conversation", c.name)
	}
	return nil
}

// last reports whether the step ends its script.
func (s step) last() bool {
	return !s.client && (s.action == closeConn || s.action == reset || s.action == stall)
}

func parseStep(text string) (step, error) {
	bad := fmt.Errorf("not a step of a transcript: %q", text)
	if len(text) < 2 || text[0] != 'C' && text[0] != 'S' {
		return step{}, bad
	}
	st := step{client: text[0] == 'C'}
	kind, finish := text[1], text[2:]
	switch kind {
	case ':', '?':
		if finish != "" && finish[0] != ' ' || kind == '?' && !st.client {
			return step{}, bad
		}
		st.data = []byte(strings.TrimPrefix(finish, " ") + "\r\n")
		st.optional = kind == '?'
		st.vars = variable.Match(st.data)
		if st.vars && !utf8.Valid(st.data) {
			return step{}, fmt.Errorf("%w: variables need UTF-8", bad)
		}
	case '"':
		raw, err := strconv.Unquote(text[1:])
		if err != nil {
			return step{}, fmt.Errorf("%w: %w", bad, err)
		}
		st.data = []byte(raw)
	case '<':
		for _, word := range strings.Fields(finish) {
			if name, ok := strings.CutPrefix(word, "{"); ok && strings.HasSuffix(name, "}") {
				st.numbers = append(st.numbers, number{len(st.data), word})
				word = "00000000"
			}
			raw, err := hex.DecodeString(word)
			if err != nil {
				return step{}, fmt.Errorf("%w: %w", bad, err)
			}
			st.data = append(st.data, raw...)
		}
	case '!':
		word, name, named := strings.Cut(finish, " ")
		st.action, st.wait = map[string]action{"close": closeConn, "reset": reset, "stall": stall,
			"wait": wait}[word], name
		if st.action == say || named != (st.action == wait) || st.client && st.action != closeConn {
			return step{}, bad
		}
	default:
		return step{}, bad
	}
	return st, nil
}

// quote formats data for a step: unquoted if it has variables or is printable, and as a Go string
// otherwise.
func quote(data []byte, vars bool) string {
	line, ok := strings.CutSuffix(string(data), "\r\n")
	if vars || ok && plain(line) && !variable.MatchString(line) {
		if line == "" {
			return ":"
		}
		return ": " + line
	}
	return strconv.Quote(string(data))
}

// plain reports whether a line is printable and does not end with a space.
func plain(line string) bool {
	for _, r := range line {
		if r == '\uFFFD' || !strconv.IsPrint(r) {
			return false
		}
	}
	return !strings.HasSuffix(line, " ")
}
