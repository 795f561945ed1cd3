// Package dictd is a dictionary server (RFC 2229) for tests. It has one database, "tree", and fails
// on request.
package dictd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options configure a server.
type Options struct {
	// Words maps words to definitions, whose lines end in LF or CR LF.
	Words map[string]string
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *servers.Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close. Faults apply to all text that ends with a line
// of a single dot. Abort sends "420 Server temporarily unavailable" after that line.
func New(opts Options) (*servers.Server, error) {
	return servers.New(servers.Config{Scheme: "dict", Listen: opts.Listen}, func(c *servers.Conn) {
		c.Reply("220 test <auth.mime> <1.2@test>")
		c.Each(func(line string) bool { return opts.handle(c, line) })
	})
}

// handle handles one command and reports whether to continue.
func (o *Options) handle(c *servers.Conn, line string) bool {
	args := split(line)
	switch verb := strings.ToUpper(args[0]); {
	case verb == "CLIENT":
		return c.Reply("250 ok") == nil
	case verb == "DEFINE" && len(args) == 3:
		text, ok := o.Words[args[2]]
		if !ok {
			return c.Reply("552 no match") == nil
		}
		return block(c, fmt.Sprintf("150 1 definitions retrieved\r\n151 %s tree \"The Tree\"",
			quote(args[2])), text)
	case verb == "MATCH" && len(args) == 4:
		return o.match(c, args[2], args[3])
	case verb == "SHOW" && len(args) == 2 && strings.EqualFold(args[1], "DB"):
		return block(c, "110 1 databases present", "tree \"The Tree\"\n")
	case verb == "QUIT":
		c.Reply("221 bye")
		return false
	}
	return c.Reply("500 what?") == nil
}

// match handles MATCH. The strategies are "exact" and "prefix", the default.
func (o *Options) match(c *servers.Conn, strategy, word string) bool {
	var lines strings.Builder
	n := 0
	for _, w := range slices.Sorted(maps.Keys(o.Words)) {
		if w == word || strategy != "exact" && strings.HasPrefix(w, word) {
			fmt.Fprintf(&lines, "tree %s\n", quote(w))
			n++
		}
	}
	if n == 0 {
		return c.Reply("552 no match") == nil
	}
	return block(c, fmt.Sprintf("152 %d matches found", n), lines.String())
}

// block sends a reply and a text block, and reports whether to continue.
func block(c *servers.Conn, reply, text string) bool {
	text = strings.ReplaceAll("\n"+strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n.",
		"\n..")[1:]
	if text != "" {
		text += "\n"
	}
	text = strings.ReplaceAll(text, "\n", "\r\n")
	b, ok := c.Content(int64(len(text)))
	if !ok {
		return true
	}
	c.Printf("%s", reply)
	io.WriteString(b, text)
	fault, err := b.End()
	switch {
	case err != nil:
		return false
	case fault == servers.Abort:
		return c.Printf("\r\n.\r\n420 Server temporarily unavailable") == nil
	case fault == servers.Short:
		return c.Printf("\r\n.\r\n250 ok") == nil
	}
	return c.Printf(".\r\n250 ok") == nil
}

// split splits a command into words, which may be quoted.
func split(line string) (words []string) {
	var word strings.Builder
	inWord, quoted := false, byte(0)
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			inWord = true
		case quoted == 0 && (b == '"' || b == '\''):
			quoted, inWord = b, true
		case b == quoted:
			quoted = 0
		case b == ' ' && quoted == 0:
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(b)
			inWord = true
		}
	}
	if inWord || words == nil {
		words = append(words, word.String())
	}
	return words
}

// quote returns a quoted word.
func quote(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
