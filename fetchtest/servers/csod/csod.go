// Package csod is a CSO name server (RFC 2378) for tests. It imitates qi of the University of
// Illinois and fails on request.
package csod

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options configure a server.
type Options struct {
	// People are the entries. A query matches words in any field, or in one field, as in
	// "name=smith". A response has the fields that the query lists, or all.
	People []Person
	// Max is the largest number of matches; a query with more is refused. 0 means no limit.
	Max int
	// Replies maps the words of queries to replies with line ends, without the final "200:Ok.".
	// They take precedence over People.
	Replies map[string]string
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
}

// A Person is the list of fields of an entry.
type Person []Field

// A Field is a name and its value, which may have several lines.
type Field struct{ Name, Value string }

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *servers.Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close. Faults apply to the text between a query and the
// final reply. Abort ends it with "475:Database unavailable.".
func New(opts Options) (*servers.Server, error) {
	return servers.New(servers.Config{Scheme: "cso", Listen: opts.Listen}, func(c *servers.Conn) {
		c.Each(func(line string) bool { return opts.handle(c, line) })
	})
}

// handle handles one command and reports whether to continue.
func (o *Options) handle(c *servers.Conn, line string) bool {
	verb, words, _ := strings.Cut(line, " ")
	switch verb {
	case "quit":
		c.Reply("200:Bye!")
		return false
	case "query", "ph":
		if text, ok := o.Replies[words]; ok {
			return send(c, text, "200:Ok.")
		}
		return o.query(c, words)
	}
	return c.Reply("598:Command not recognized.") == nil
}

// send sends a text and the final reply, and reports whether to continue.
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

// query handles a query.
func (o *Options) query(c *servers.Conn, words string) bool {
	selection, fields, _ := strings.Cut(words, " return ")
	terms, returned := strings.Fields(selection), strings.Fields(fields)
	if errors := o.unknownFields(terms, returned); errors != "" {
		return send(c, errors, "500:Did not understand query.")
	}
	var found []Person
	for _, p := range o.People {
		if p.matches(terms) {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0:
		return c.Reply("501:No matches to your query.") == nil
	case o.Max > 0 && len(found) > o.Max:
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

// unknownFields returns one line for each field of a query that no entry has.
func (o *Options) unknownFields(terms, returned []string) (lines string) {
	var names []string
	for _, word := range terms {
		if name, _, ok := strings.Cut(word, "="); ok {
			names = append(names, name)
		}
	}
	for _, name := range append(names, returned...) {
		if name != "all" && !o.hasField(name) {
			lines += "-507:" + name + ":unknown field.\r\n"
		}
	}
	return lines
}

// hasField reports whether an entry has a field with this name.
func (o *Options) hasField(name string) bool {
	return slices.ContainsFunc(o.People, func(p Person) bool {
		return slices.ContainsFunc(p, func(f Field) bool { return f.Name == name })
	})
}

// matches reports whether each word is in any field, or in the field that it names.
func (p Person) matches(words []string) bool {
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			name, value = "", word
		}
		if !slices.ContainsFunc(p, func(f Field) bool {
			return (name == "" || f.Name == name) &&
				strings.Contains(strings.ToLower(f.Value), strings.ToLower(value))
		}) {
			return false
		}
	}
	return true
}

// write writes the fields. Each line starts with the number of the entry.
func (p Person) write(text *strings.Builder, number int, returned []string) {
	for _, f := range p {
		if len(returned) > 0 && !slices.Contains(returned, "all") && !slices.Contains(returned, f.Name) {
			continue
		}
		name := f.Name
		for line := range strings.Lines(f.Value) {
			fmt.Fprintf(text, "-200:%d:%12s: %s\r\n", number, name, strings.TrimRight(line, "\n"))
			name = "" // continuation lines have no name
		}
	}
}
