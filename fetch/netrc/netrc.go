// Package netrc reads credentials from netrc files, as ftp, curl and wget do.
package netrc

import (
	"fmt"
	"io"
	"strings"
)

// maxSize limits the size of a file, in bytes.
const maxSize = 1 << 20

type entry struct {
	Machine  string // host name as written; "" in the default entry
	Login    string
	Password string
	Account  string // for FTP's ACCT
}

type file []entry

// parse reads a netrc file: the keywords machine, default, login, password, account and macdef,
// separated by white space. Each except default has a value. As in curl, a value may be in double
// quotes, with a backslash before a quote or backslash in it. In place of a keyword, "#" starts a
// comment up to the end of the line. Macro definitions, which end with a blank line, and all other
// words are skipped: programs have words of their own, such as port and protocol.
// Errors contain the line number and never the text, which may be a password.
func parse(r io.Reader) (file, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSize {
		return nil, fmt.Errorf("larger than %d bytes", maxSize)
	}
	s := scanner{text: strings.TrimPrefix(string(text), "\ufeff"), line: 1} // editors on Windows write a mark
	var f file
	for {
		word, err := s.next(true)
		if err != nil {
			return nil, err
		}
		switch word {
		case "":
			return f, nil
		case "default":
			f = append(f, entry{})
			continue
		case "machine", "login", "password", "account", "macdef":
		default:
			continue
		}
		value, err := s.next(false)
		switch {
		case err != nil:
			return nil, err
		case word == "machine" && value == "":
			return nil, s.wrong("a machine without a name")
		case word == "machine":
			f = append(f, entry{Machine: value})
			continue
		case word == "macdef":
			s.skipMacro()
			continue
		case len(f) == 0:
			continue // it belongs to no machine
		}
		last := &f[len(f)-1]
		switch word {
		case "login":
			last.Login = value
		case "password":
			last.Password = value
		case "account":
			last.Account = value
		}
	}
}

// lookup returns the first entry for host. If user is not "", an entry with another login is skipped.
// The default entry matches every host.
func (f file) lookup(host, user string) (entry, bool) {
	for _, e := range f {
		if e.Machine != "" && !strings.EqualFold(e.Machine, host) {
			continue
		}
		if user == "" || e.Login == "" || e.Login == user {
			if e.Login == "" {
				e.Login = user
			}
			return e, true
		}
	}
	return entry{}, false
}

const blanks = " \t\r\n\v\f"

type scanner struct {
	text string // the unread text
	line int
}

func (s *scanner) wrong(reason string) error { return fmt.Errorf("line %d: %s", s.line, reason) }

func (s *scanner) advance(n int) {
	s.line += strings.Count(s.text[:n], "\n")
	s.text = s.text[n:]
}

// next returns the next word. At the end of the text, it returns "" for a keyword and an error for a
// value.
func (s *scanner) next(keyword bool) (string, error) {
	for {
		s.advance(len(s.text) - len(strings.TrimLeft(s.text, blanks)))
		if !keyword || !strings.HasPrefix(s.text, "#") {
			break
		}
		s.advance(lineEnd(s.text))
	}
	switch {
	case s.text == "" && keyword:
		return "", nil
	case s.text == "":
		return "", s.wrong("a value is missing")
	case s.text[0] == '"': // for a keyword, it is the value of an unknown one
		return s.quoted()
	}
	end := strings.IndexAny(s.text, blanks)
	if end < 0 {
		end = len(s.text)
	}
	word := s.text[:end]
	s.advance(end)
	return word, nil
}

func (s *scanner) quoted() (string, error) {
	var b strings.Builder
	for i := 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.advance(i + 1)
			return b.String(), nil
		case c == '\n':
			return "", s.wrong("a quote is not closed")
		case c == '\\' && i+1 < len(s.text) && s.text[i+1] != '\n':
			i++
			b.WriteByte(s.text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", s.wrong("a quote is not closed")
}

// skipMacro skips the lines of a macro, up to a blank one.
func (s *scanner) skipMacro() {
	s.advance(lineEnd(s.text)) // the rest of the line with the name
	for s.text != "" {
		n := lineEnd(s.text)
		blank := strings.Trim(s.text[:n], "\r\n") == ""
		s.advance(n)
		if blank {
			return
		}
	}
}

func lineEnd(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}
