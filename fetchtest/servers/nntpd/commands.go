package nntpd

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

func (c *session) authinfo(args string) {
	kind, value, _ := strings.Cut(args, " ")
	switch strings.ToUpper(kind) {
	case "USER":
		c.user = value
		c.Reply("381 password?")
	case "PASS":
		c.login(c.user, value)
	case "SASL":
		_, response, _ := strings.Cut(value, " ")
		plain, _ := base64.StdEncoding.DecodeString(response)
		if f := strings.Split(string(plain), "\x00"); len(f) == 3 {
			c.login(f[1], f[2])
			return
		}
		c.Reply("482 what?")
	default:
		c.Reply("501 what?")
	}
}

func (c *session) login(user, password string) {
	if user != c.opts.User || password != c.opts.Password {
		c.Reply("481 wrong")
		return
	}
	c.loggedIn = true
	c.Reply("281 welcome")
}

// read handles the reader commands.
func (c *session) read(verb, args string) bool {
	switch verb {
	case "GROUP", "LISTGROUP":
		return c.selectGroup(verb, args)
	case "LIST":
		return c.list(args)
	case "ARTICLE", "HEAD", "BODY", "STAT":
		return c.article(verb, args)
	case "OVER", "XOVER":
		if c.opts.NoOverview {
			c.Reply("500 what?")
			return true
		}
		return c.over(args)
	default:
		c.Reply("500 what?")
	}
	return true
}

// block sends a reply and a block of lines with doubled dots. The size of the block is in bytes, or
// -1 if unknown. It reports whether to continue.
func (c *session) block(size int64, reply string, lines iter.Seq[string]) bool {
	b, ok := c.Content(size)
	if !ok {
		return true
	}
	c.Printf("%s", reply)
	for line := range lines {
		if strings.HasPrefix(line, ".") {
			line = "." + line
		}
		if _, err := io.WriteString(b, line+"\r\n"); err != nil {
			return false
		}
	}
	fault, err := b.End()
	if fault == servers.Short {
		c.Printf("") // the fault may have ended within a line
	}
	return err == nil && c.Printf(".") == nil
}

func (c *session) find(name string) *Group {
	for i := range c.opts.Groups {
		if c.opts.Groups[i].Name == name {
			return &c.opts.Groups[i]
		}
	}
	return nil
}

func (c *session) selectGroup(verb, name string) bool {
	g := c.find(name)
	if g == nil {
		c.Reply("411 no group %s", name)
		return true
	}
	c.group = g
	reply := fmt.Sprintf("211 %d %d %d %s", g.count(), g.first(), g.last(), g.Name)
	if verb == "GROUP" {
		c.Reply("%s", reply)
		return true
	}
	return c.block(-1, reply, c.existing(g.first(), g.last(), strconv.Itoa))
}

// existing returns a line for each existing article of a range.
func (c *session) existing(from, to int, line func(n int) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := from; n <= to; n++ {
			if c.group.exists(n) && !yield(line(n)) {
				return
			}
		}
	}
}

func (c *session) list(args string) bool {
	kind, pattern, _ := strings.Cut(args, " ")
	switch kind = strings.ToUpper(kind); {
	case c.opts.Legacy && pattern != "", kind != "" && kind != "ACTIVE" && kind != "NEWSGROUPS":
		c.Reply("501 what?")
		return true
	}
	return c.block(-1, "215 list follows", func(yield func(string) bool) {
		for _, g := range c.opts.Groups {
			line := fmt.Sprintf("%s %010d %010d y", g.Name, g.last(), g.first())
			if kind == "NEWSGROUPS" {
				line = g.Name + "\t" + g.Description
			}
			if !yield(line) {
				return
			}
		}
	})
}

// lookup finds an article by number or message-id.
func (c *session) lookup(name string) (a Article, number int, refusal string) {
	if strings.HasPrefix(name, "<") {
		for _, g := range c.opts.Groups {
			for _, a := range g.Articles {
				if a.ID == name {
					return a, 0, ""
				}
			}
		}
		return a, 0, "430 no such article"
	}
	n, err := strconv.Atoi(name)
	switch {
	case err != nil:
		return a, 0, "501 what?"
	case c.group == nil:
		return a, 0, "412 no group"
	case !c.group.exists(n), n-c.group.first() >= len(c.group.Articles): // synthetic articles have no text
		return a, 0, "423 no such number"
	}
	return c.group.Articles[n-c.group.first()], n, ""
}

func (c *session) article(verb, name string) bool {
	a, number, refusal := c.lookup(name)
	if refusal != "" {
		c.Reply("%s", refusal)
		return true
	}
	text := strings.TrimSuffix(strings.ReplaceAll(a.Text, "\r\n", "\n"), "\n")
	head, body, _ := strings.Cut(text, "\n\n")
	code := 220
	switch verb {
	case "HEAD":
		code, text = 221, head
	case "BODY":
		code, text = 222, body
	case "STAT":
		c.Reply("223 %d %s", number, a.ID)
		return true
	}
	id := cmp.Or(c.opts.WrongID, a.ID)
	size := len(text) + strings.Count(text, "\n") + strings.Count("\n"+text, "\n.") + len("\r\n")
	ok := c.block(int64(size), fmt.Sprintf("%d %d %s", code, number, id), strings.SplitSeq(text, "\n"))
	io.WriteString(c, c.opts.Trailing)
	return ok
}

func (c *session) over(args string) bool {
	if c.group == nil {
		c.Reply("412 no group")
		return true
	}
	from, to := c.group.parseRange(args)
	if from > to {
		c.Reply("423 empty range")
		return true
	}
	return c.block(-1, "224 overview follows", c.existing(from, to, c.group.overview))
}
