// Package csod is a CSO name server (RFC 2378) for tests, with the manners of the University of
// Illinois' qi, which fails on request.
package csod

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options say what a server knows.
type Options struct {
	// People are those who can be found, by words of any field or by one field, as in "name=smith".
	// An answer has those fields that the query returns, or else all.
	People []Person
	// Max is how many people an answer has at most; more are too many. 0 means no limit.
	Max int
	// Answers are answers by the words of a query, with line ends, and without the final "200:Ok.".
	// They go before People.
	Answers map[string]string
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
}

// A Person is what is known of somebody.
type Person []Field

// A Field is a name and its value, which may have several lines.
type Field struct{ Name, Value string }

// A Server is a running name server. Its content, for faults, is what is between a query and the
// final reply; Abort ends it with "475:Database unavailable.".
type Server struct {
	*servers.Server
	opts Options
}

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	base, err := servers.Listen(servers.Config{Scheme: "cso", Listen: opts.Listen})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(func(c *servers.Conn) {
		for {
			line, err := c.ReadLine()
			if err != nil || !s.answer(c, line) {
				return
			}
		}
	})
	return s, nil
}

// answer answers a command and reports whether to go on.
func (s *Server) answer(c *servers.Conn, line string) bool {
	verb, words, _ := strings.Cut(line, " ")
	switch verb {
	case "quit":
		c.Reply("200:Bye!")
		return false
	case "query", "ph":
		if text, ok := s.opts.Answers[words]; ok {
			return send(c, text, "200:Ok.")
		}
		return s.query(c, words)
	}
	return c.Reply("598:Command not recognized.") == nil
}

// send sends a content and the final reply, and reports whether to go on.
func send(c *servers.Conn, text, final string) bool {
	switch fault, err := c.Send([]byte(text)); {
	case err != nil:
		return false
	case fault == servers.Noise:
		return true
	case fault == servers.Abort:
		final = "475:Database unavailable."
	}
	return c.Printf("%s", final) == nil
}

// query answers a query.
func (s *Server) query(c *servers.Conn, words string) bool {
	selection, fields, _ := strings.Cut(words, " return ")
	wanted, returned := strings.Fields(selection), strings.Fields(fields)
	if errors := s.unknown(wanted, returned); errors != "" {
		return send(c, errors, "500:Did not understand query.")
	}
	var found []Person
	for _, p := range s.opts.People {
		if p.matches(wanted) {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0:
		return c.Reply("501:No matches to your query.") == nil
	case s.opts.Max > 0 && len(found) > s.opts.Max:
		return c.Reply("502:Too many matches to print.") == nil
	}
	var text strings.Builder
	if len(found) == 1 {
		text.WriteString("102:There was 1 match to your request.\r\n")
	} else {
		fmt.Fprintf(&text, "102:There were %d matches to your request.\r\n", len(found))
	}
	for i, p := range found {
		p.write(&text, i+1, returned)
	}
	return send(c, text.String(), "200:Ok.")
}

// unknown returns a line for each field of a query that nobody has.
func (s *Server) unknown(wanted, returned []string) (lines string) {
	var names []string
	for _, word := range wanted {
		if name, _, ok := strings.Cut(word, "="); ok {
			names = append(names, name)
		}
	}
	for _, name := range append(names, returned...) {
		if name != "all" && !s.knows(name) {
			lines += "-507:" + name + ":unknown field.\r\n"
		}
	}
	return lines
}

// knows reports whether anybody has a field of that name.
func (s *Server) knows(name string) bool {
	return slices.ContainsFunc(s.opts.People, func(p Person) bool {
		return slices.ContainsFunc(p, func(f Field) bool { return f.Name == name })
	})
}

// matches reports whether each of the words is in some field, or in the one that it names.
func (p Person) matches(words []string) bool {
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			name, value = "", word
		}
		if !slices.ContainsFunc(p, func(f Field) bool {
			return (name == "" || f.Name == name) && strings.Contains(strings.ToLower(f.Value), strings.ToLower(value))
		}) {
			return false
		}
	}
	return true
}

// write writes the fields, each line with the number of the person.
func (p Person) write(text *strings.Builder, number int, returned []string) {
	for _, f := range p {
		if len(returned) > 0 && !slices.Contains(returned, "all") && !slices.Contains(returned, f.Name) {
			continue
		}
		name := f.Name
		for line := range strings.Lines(f.Value) {
			fmt.Fprintf(text, "-200:%d:%12s: %s\r\n", number, name, strings.TrimRight(line, "\n"))
			name = "" // the lines that follow belong to the same field
		}
	}
}
