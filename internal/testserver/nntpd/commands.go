package nntpd

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

func (c *session) authinfo(args string) {
	kind, value, _ := strings.Cut(args, " ")
	switch strings.ToUpper(kind) {
	case "USER":
		c.user = value
		c.say("381 password?")
	case "PASS":
		c.verdict(c.user, value)
	case "SASL":
		_, answer, _ := strings.Cut(value, " ")
		plain, _ := base64.StdEncoding.DecodeString(answer)
		if f := strings.Split(string(plain), "\x00"); len(f) == 3 {
			c.verdict(f[1], f[2])
			return
		}
		c.say("482 what?")
	default:
		c.say("501 what?")
	}
}

func (c *session) verdict(user, password string) {
	if user != c.cfg.User || password != c.cfg.Password {
		c.say("481 wrong")
		return
	}
	c.known = true
	c.say("281 welcome")
}

// read answers the commands of readers.
func (c *session) read(verb, args string) bool {
	switch verb {
	case "GROUP", "LISTGROUP":
		return c.selectGroup(verb, args)
	case "LIST":
		c.list(args)
	case "ARTICLE", "HEAD", "BODY", "STAT":
		return c.article(verb, args)
	case "OVER", "XOVER":
		if c.cfg.NoOverview {
			c.say("500 what?")
			return true
		}
		return c.over(args)
	default:
		c.say("500 what?")
	}
	return true
}

func (c *session) find(name string) *Group {
	for i := range c.cfg.Groups {
		if c.cfg.Groups[i].Name == name {
			return &c.cfg.Groups[i]
		}
	}
	return nil
}

func (c *session) selectGroup(verb, name string) bool {
	g := c.find(name)
	if g == nil {
		c.say("411 no group %s", name)
		return true
	}
	c.group = g
	c.say("211 %d %d %d %s", g.count(), g.first(), g.last(), g.Name)
	if verb == "LISTGROUP" {
		for n := g.first(); n <= g.last(); n++ {
			if g.exists(n) {
				c.say("%d", n)
			}
		}
		c.say(".")
	}
	return true
}

func (c *session) list(args string) {
	kind, pattern, _ := strings.Cut(args, " ")
	switch kind = strings.ToUpper(kind); {
	case c.cfg.Legacy && pattern != "", kind != "" && kind != "ACTIVE" && kind != "NEWSGROUPS":
		c.say("501 what?")
		return
	}
	c.say("215 list follows")
	for _, g := range c.cfg.Groups {
		if kind == "NEWSGROUPS" {
			c.say("%s\t%s", g.Name, g.Description)
		} else {
			c.say("%s %010d %010d y", g.Name, g.last(), g.first())
		}
	}
	c.say(".")
}

// lookup finds an article by number or message-id.
func (c *session) lookup(name string) (a Article, number int, refusal string) {
	if strings.HasPrefix(name, "<") {
		for _, g := range c.cfg.Groups {
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
	case !c.group.exists(n):
		return a, 0, "423 no such number"
	}
	return c.group.Articles[n-c.group.first()], n, ""
}

func (c *session) article(verb, name string) bool {
	a, number, refusal := c.lookup(name)
	if refusal != "" {
		c.say("%s", refusal)
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
		c.say("223 %d %s", number, a.ID)
		return true
	}
	b := c.block()
	if verb == "ARTICLE" {
		switch f := c.fault(); f {
		case Noise:
			c.say("\x00\xffthis is no reply")
			return true
		case Cut, Stall:
			b.left, b.stall = max(len(head)+8, len(text)/2), f == Stall
		}
	}
	c.say("%d %d %s", code, number, a.ID)
	for line := range strings.SplitSeq(text, "\n") {
		if !b.line(line) {
			return false
		}
	}
	c.say(".")
	return true
}

func (c *session) over(args string) bool {
	if c.group == nil {
		c.say("412 no group")
		return true
	}
	from, to := c.group.parseRange(args)
	if from > to {
		c.say("423 empty range")
		return true
	}
	c.say("224 overview follows")
	b := c.block()
	for n := from; n <= to; n++ {
		if c.group.exists(n) && !b.line(c.group.overview(n)) {
			return false
		}
	}
	c.say(".")
	return true
}

// overview returns the overview line of an article.
func (g *Group) overview(n int) string {
	if g.Synthetic > 0 {
		return SyntheticOverview(g.Name, n)
	}
	a := g.Articles[n-g.first()]
	head, body, _ := strings.Cut(strings.ReplaceAll(a.Text, "\r\n", "\n"), "\n\n")
	h := make(map[string]string)
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, ":")
		h[strings.ToLower(name)] = strings.ReplaceAll(strings.TrimSpace(value), "\t", " ")
	}
	return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d", n, h["subject"], h["from"], h["date"], a.ID,
		h["references"], len(a.Text), strings.Count(body, "\n"))
}

// SyntheticOverview is the overview line of a synthetic article.
func SyntheticOverview(group string, n int) string {
	return fmt.Sprintf("%d\tRe: a subject of usual length for article %d\tSome Body <some.body%d@example.invalid>\t"+
		"Sat, 29 Feb 2020 12:34:56 +0000\t<article%d.part1@news.example.invalid>\t"+
		"<parent%d@news.example.invalid> <root@news.example.invalid>\t%d\t%d\tXref: news.example.invalid %s:%d",
		n, n, n, n, n, 2000+n%500, 20+n%100, group, n)
}
